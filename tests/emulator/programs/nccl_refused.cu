// What the NCCL stand-in lacks ends the program with its name.
#include "programs/in_child.hpp"

#include <nccl.h>
#include <nccl_device.h>

int main()
{
    const auto refuse = [](const char* text, auto f) { expect(in_child(f), text, "is not implemented"); };
    refuse("ncclCommShrink", [] { ncclCommShrink(nullptr, nullptr, 0, nullptr, nullptr, 0); });
    refuse("ncclCommRevoke", [] { ncclCommRevoke(nullptr, 0); });
    refuse("ncclCommInitRankScalable", [] { ncclCommInitRankScalable(nullptr, 1, 0, 1, nullptr, nullptr); });
    refuse("ncclGroupSimulateEnd", [] { ncclGroupSimulateEnd(nullptr); });
    refuse("ncclGinBarrierCreateRequirement",
           [] { ncclGinBarrierCreateRequirement(nullptr, {}, 1, nullptr, nullptr); });
    // A graph does not outlive the communicator that it uses.
    expect(in_child([] {
               ncclComm_t comm = nullptr;
               ncclCommInitAll(&comm, 1, nullptr);
               cudaStream_t s;
               cudaStreamCreate(&s);
               float* p = nullptr;
               cudaMalloc(reinterpret_cast<void**>(&p), 4);
               cudaMemset(p, 0, 4);
               cudaDeviceSynchronize();
               cudaGraph_t g;
               cudaGraphExec_t e;
               cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
               ncclAllReduce(p, p, 1, ncclFloat, ncclSum, comm, s);
               cudaStreamEndCapture(s, &g);
               cudaGraphInstantiate(&e, g, 0);
               ncclCommDestroy(comm);
               cudaGraphLaunch(e, s);
           }),
           "a graph with NCCL calls", "after its communicator's end");
    return check::result();
}
