#include "group.hpp"

#include "error.hpp"
#include "exchange.hpp"

#include <algorithm>

namespace emulator::nccl {
namespace {

struct stream_call {
    std::shared_ptr<ncclComm> of;
    call what;
    cudaStream_t stream = nullptr;
};

struct host_call {
    std::shared_ptr<ncclComm> of;
    std::shared_ptr<meeting> with;
};

struct group {
    int depth = 0;
    ncclResult_t error = ncclSuccess;
    std::vector<stream_call> on_streams;
    std::vector<host_call> on_host;
};

group& this_group()
{
    thread_local group g;
    return g;
}

/// Makes one stream wait for what another has so far.
void follow(cudaStream_t later, cudaStream_t earlier)
{
    cudaEvent_t e = nullptr;
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaEventRecord(e, earlier);
    cudaStreamWaitEvent(later, e, 0);
    cudaEventDestroy(e);
}

// NCCL runs the calls of a group as one: on the first of its streams, and the others wait for it and it for them.
ncclResult_t run(const std::shared_ptr<ncclComm>& c, const std::vector<stream_call>& group_calls)
{
    std::vector<call> calls;
    std::vector<cudaStream_t> streams;
    for (const stream_call& s : group_calls) {
        if (s.of != c) { continue; }
        calls.push_back(s.what);
        if (std::find(streams.begin(), streams.end(), s.stream) == streams.end()) { streams.push_back(s.stream); }
    }
    const on_device scope(c->device);
    for (std::size_t k = 1; k < streams.size(); ++k) { follow(streams[0], streams[k]); }
    const ncclResult_t r = enqueue(c, calls, streams[0]);
    for (std::size_t k = 1; k < streams.size(); ++k) { follow(streams[k], streams[0]); }
    return r;
}

ncclResult_t run_streams(const std::vector<stream_call>& calls)
{
    const extension::lock hold;
    ncclResult_t result = ncclSuccess;
    std::vector<const ncclComm*> seen;
    for (const stream_call& s : calls) {
        if (std::find(seen.begin(), seen.end(), s.of.get()) != seen.end()) { continue; }
        seen.push_back(s.of.get());
        const ncclResult_t r = run(s.of, calls);
        if (r != ncclSuccess) { result = r; }
    }
    return result;
}

ncclResult_t wait_for_ranks(const host_call& h)
{
    if (!h.of->blocking) {
        const extension::lock hold;
        return h.with->done() ? h.with->result() : ncclInProgress;
    }
    return wait_for(*h.with, [&] { return h.of->aborted; });
}

}  // namespace

ncclResult_t take(const std::shared_ptr<ncclComm>& c, const call& what, cudaStream_t stream)
{
    group& g = this_group();
    if (g.depth > 0) {
        g.on_streams.push_back({c, what, stream});
        return ncclSuccess;
    }
    return run(c, {{c, what, stream}});
}

ncclResult_t take(const std::shared_ptr<ncclComm>& c, const std::shared_ptr<meeting>& m)
{
    group& g = this_group();
    if (g.depth > 0) {
        g.on_host.push_back({c, m});
        return ncclSuccess;
    }
    return wait_for_ranks({c, m});
}

ncclResult_t refuse(ncclResult_t why)
{
    group& g = this_group();
    if (g.depth > 0 && g.error == ncclSuccess) { g.error = why; }
    return why;
}

}  // namespace emulator::nccl

using namespace emulator::nccl;

extern "C" {

ncclResult_t ncclGroupStart()
{
    ++this_group().depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd()
{
    group& g = this_group();
    if (g.depth == 0) { return set_error(ncclInvalidUsage, "ncclGroupEnd: not in a group call"); }
    if (--g.depth > 0) { return ncclSuccess; }
    const group all = std::exchange(g, group{});
    if (all.error != ncclSuccess) { return all.error; }
    ncclResult_t result = ncclSuccess;
    for (const host_call& h : all.on_host) {
        const ncclResult_t r = wait_for_ranks(h);
        if (r != ncclSuccess && result != ncclInProgress) { result = r; }
    }
    if (result != ncclSuccess && result != ncclInProgress) { return result; }
    const ncclResult_t r = run_streams(all.on_streams);
    return r != ncclSuccess ? r : result;
}
}
