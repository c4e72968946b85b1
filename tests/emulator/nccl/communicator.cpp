#include "communicator.hpp"

#include "error.hpp"

#include <sys/mman.h>

namespace emulator::nccl {
namespace {

std::map<const ncclComm*, std::shared_ptr<ncclComm>>& known()
{
    static auto* k = new std::map<const ncclComm*, std::shared_ptr<ncclComm>>;
    return *k;
}

/// As NVLink SHARP: of devices of compute capability 9.0 and newer, each of them once in its team.
bool has_multimem(const clique& all)
{
    std::set<std::pair<int, int>> members;
    for (int r = 0; r < all.size(); ++r) {
        const int device = all.ranks[static_cast<std::size_t>(r)]->device;
        int major = 0;
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
        if (major < 9 || !members.insert({r / all.lsa_size, device}).second) { return false; }
    }
    return settings().multimem;
}

}  // namespace

clique::~clique()
{
    if (flat.base != 0) { ::munmap(reinterpret_cast<void*>(flat.base), flat.bytes); }
}

std::shared_ptr<ncclComm> find(ncclComm_t handle)
{
    const auto at = known().find(handle);
    return at == known().end() ? nullptr : at->second;
}

std::shared_ptr<ncclComm> find_usable(ncclComm_t handle, const char* what, ncclResult_t& why)
{
    const auto c = find(handle);
    const std::string begin = std::string(what) + ": ";
    why = ncclSuccess;
    if (!c) {
        why = set_error(ncclInvalidArgument, begin + "no communicator is there");
    } else if (c->aborted) {
        why = set_error(ncclInvalidUsage, begin + "the communicator was aborted");
    } else if (!c->all) {
        why = set_error(ncclInvalidUsage, begin + "the communicator is not complete");
    }
    return why == ncclSuccess ? c : nullptr;
}

void keep(const std::shared_ptr<ncclComm>& c) { known()[c.get()] = c; }
void forget(const ncclComm* c) { known().erase(c); }

std::shared_ptr<clique> make_clique(const std::vector<ncclComm*>& ranks)
{
    static unsigned made = 0;
    auto all = std::make_shared<clique>();
    all->number = ++made;
    all->ranks = ranks;
    const int wanted = settings().lsa_size;
    all->lsa_size = wanted > 0 && all->size() % wanted == 0 ? wanted : all->size();
    all->multimem = has_multimem(*all);
    for (std::size_t r = 0; r < ranks.size(); ++r) { join(*ranks[r], all, static_cast<int>(r)); }
    return all;
}

void join(ncclComm& c, const std::shared_ptr<clique>& all, int rank)
{
    c.all = all;
    c.rank = rank;
    c.ranks = all->size();
    c.settings = settings();
    c.sent.resize(all->ranks.size());
    c.received.resize(all->ranks.size());
}

}  // namespace emulator::nccl

using namespace emulator::nccl;
using emulator::extension::lock;

namespace {

template <class T>
ncclResult_t query(ncclComm_t handle, T* out, T (*get)(const ncclComm&))
{
    const lock hold;
    const auto c = find(handle);
    if (!c || out == nullptr) { return set_error(ncclInvalidArgument, "no communicator, or nowhere to write to"); }
    *out = get(*c);
    return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count)
{
    return query<int>(comm, count, [](const ncclComm& c) { return c.ranks; });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device)
{
    return query<int>(comm, device, [](const ncclComm& c) { return c.device; });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank)
{
    return query<int>(comm, rank, [](const ncclComm& c) { return c.rank; });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error)
{
    return query<ncclResult_t>(comm, error, [](const ncclComm& c) {
        if (c.pending && !c.pending->done()) { return ncclInProgress; }
        if (c.error == ncclSuccess && c.pending && !c.blocking) { return c.pending->result(); }
        return c.error;
    });
}
}
