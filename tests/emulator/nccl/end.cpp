// The ends of communicators.
#include "error.hpp"
#include "exchange.hpp"

using namespace emulator::nccl;
using emulator::extension::lock;

namespace {

ncclResult_t wait_for_work(const ncclComm& c)
{
    if (c.last && !c.last->done) {
        if (emulator::extension::wait(c.last) != cudaSuccess) { return ncclUnhandledCudaError; }
    }
    return ncclSuccess;
}

void leave(const std::shared_ptr<ncclComm>& c)
{
    remove_windows(*c);
    if (c->all) { c->all->ranks[static_cast<std::size_t>(c->rank)] = nullptr; }
    forget(c.get());
}

ncclResult_t unknown(const char* what)
{
    return set_error(ncclInvalidArgument, std::string(what) + ": no communicator is there");
}

}  // namespace

extern "C" {

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    const lock hold;
    const auto c = find(comm);
    return c ? wait_for_work(*c) : unknown("ncclCommFinalize");
}

// Waits for what is on streams.
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    const lock hold;
    const auto c = find(comm);
    if (!c) { return unknown("ncclCommDestroy"); }
    const ncclResult_t r = wait_for_work(*c);
    leave(c);
    return r;
}

// Frees the streams that wait in the rank's calls; what would have been received is not there.
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    const lock hold;
    const auto c = find(comm);
    if (!c) { return unknown("ncclCommAbort"); }
    c->aborted = true;
    if (c->pending && !c->pending->done()) { c->pending->end(ncclInternalError); }
    abandon(*c);
    leave(c);
    return ncclSuccess;
}
}
