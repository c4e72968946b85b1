// Making communicators: by id, all at once, and by splitting one.
#include "error.hpp"
#include "group.hpp"

#include <algorithm>
#include <cstring>

using namespace emulator::nccl;
using emulator::extension::lock;

namespace {

constexpr std::uint64_t id_magic = 0x706c'6169'742d'6e63;

struct init_arrival {
    std::shared_ptr<ncclComm> comm;
    ncclComm_t* out = nullptr;
};
using init_meeting = meeting_of<init_arrival>;

std::map<std::uint64_t, std::shared_ptr<init_meeting>>& meetings()
{
    static auto* m = new std::map<std::uint64_t, std::shared_ptr<init_meeting>>;
    return *m;
}

ncclResult_t check_devices(const std::vector<ncclComm*>& ranks)
{
    for (const ncclComm* a : ranks) {
        for (const ncclComm* b : ranks) {
            if (a != b && a->device == b->device && !settings().several_ranks_on_a_device) {
                return set_error(ncclInvalidUsage, "two ranks on device " + std::to_string(a->device) +
                                                       ": it takes NCCL_MULTI_RANK_GPU_ENABLE=1 (NCCL 2.30) for that");
            }
        }
    }
    return ncclSuccess;
}

ncclResult_t complete(std::vector<init_arrival>& all)
{
    std::vector<ncclComm*> ranks;
    for (const init_arrival& a : all) { ranks.push_back(a.comm.get()); }
    const ncclResult_t r = check_devices(ranks);
    if (r != ncclSuccess) {
        for (const init_arrival& a : all) {
            if (a.comm->blocking) { *a.out = nullptr; }
            a.comm->error = r;
        }
        return r;
    }
    make_clique(ranks);
    return ncclSuccess;
}

std::shared_ptr<ncclComm> new_rank(int rank, int ranks, int device, const ncclConfig_t* config)
{
    auto c = std::make_shared<ncclComm>();
    c->rank = rank;
    c->ranks = ranks;
    c->device = device;
    c->blocking = config == nullptr || config->blocking != 0;
    keep(c);
    return c;
}

ncclResult_t check_config(const ncclConfig_t* config)
{
    const ncclConfig_t usual = NCCL_CONFIG_INITIALIZER;
    if (config != nullptr && (config->magic != usual.magic || config->size > usual.size)) {
        return set_error(ncclInvalidArgument, "the configuration was not set to NCCL_CONFIG_INITIALIZER");
    }
    return ncclSuccess;
}

ncclResult_t init(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank, const ncclConfig_t* config)
{
    std::uint64_t words[2];
    std::memcpy(words, id.internal, sizeof words);
    if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks || words[0] != id_magic) {
        return refuse(set_error(ncclInvalidArgument, "ncclCommInitRank: a wrong rank, number of ranks, or id"));
    }
    if (const ncclResult_t r = check_config(config); r != ncclSuccess) { return refuse(r); }
    std::shared_ptr<ncclComm> c;
    std::shared_ptr<init_meeting> m;
    {
        const lock hold;
        int device = 0;
        cudaGetDevice(&device);
        auto& kept = meetings()[words[1]];
        if (!kept) { kept = std::make_shared<init_meeting>("ncclCommInitRank", ranks, complete); }
        m = kept;
        c = new_rank(rank, ranks, device, config);
        c->pending = m;
        *comm = c.get();
        const ncclResult_t r = m->arrive(rank, {c, comm});
        if (r != ncclSuccess) {
            forget(c.get());
            *comm = nullptr;
            return refuse(set_error(r, "ncclCommInitRank: rank " + std::to_string(rank) + " was there before"));
        }
        if (m->done()) { meetings().erase(words[1]); }
    }
    const ncclResult_t r = take(c, m);
    if (r != ncclSuccess && r != ncclInProgress) { *comm = nullptr; }
    return r;
}

struct split_arrival {
    std::shared_ptr<ncclComm> of;
    int color = 0, key = 0;
    ncclComm_t* out = nullptr;
    bool blocking = true;
};

ncclResult_t complete_split(std::vector<split_arrival>& all)
{
    std::map<int, std::vector<const split_arrival*>> by_color;
    for (const split_arrival& a : all) {
        *a.out = nullptr;
        if (a.color >= 0) { by_color[a.color].push_back(&a); }
    }
    for (auto& [color, members] : by_color) {
        std::stable_sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->key < b->key; });
        std::vector<ncclComm*> ranks;
        for (const split_arrival* a : members) {
            const auto c = new_rank(0, static_cast<int>(members.size()), a->of->device, nullptr);
            c->blocking = a->blocking;
            *a->out = c.get();
            ranks.push_back(c.get());
        }
        make_clique(ranks);
    }
    return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id)
{
    if (id == nullptr) { return ncclInvalidArgument; }
    const lock hold;
    static std::uint64_t next = 1;
    std::memset(id, 0, sizeof *id);
    const std::uint64_t words[2] = {id_magic, next++};
    std::memcpy(id->internal, words, sizeof words);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config)
{
    return init(comm, ranks, id, rank, config);
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank)
{
    return init(comm, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ranks, const int* devices)
{
    int available = 0;
    cudaGetDeviceCount(&available);
    if (comm == nullptr || ranks < 1 || (devices == nullptr && ranks > available)) {
        return set_error(ncclInvalidArgument, "ncclCommInitAll: a wrong number of devices");
    }
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclGroupStart();
    for (int r = 0; r < ranks; ++r) {
        const on_device scope(devices != nullptr ? devices[r] : r);
        init(comm + r, ranks, id, r, nullptr);
    }
    return ncclGroupEnd();
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* out, ncclConfig_t* config)
{
    if (const ncclResult_t r = check_config(config); r != ncclSuccess) { return refuse(r); }
    std::shared_ptr<ncclComm> c;
    std::shared_ptr<meeting> m;
    {
        const lock hold;
        ncclResult_t why = ncclSuccess;
        c = find_usable(comm, "ncclCommSplit", why);
        if (!c) { return refuse(why); }
        if (out == nullptr || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) {
            return refuse(set_error(ncclInvalidArgument, "ncclCommSplit: a wrong color"));
        }
        auto* mine = meet<split_arrival>(*c, "ncclCommSplit", complete_split);
        if (mine == nullptr) { return refuse(set_error(ncclInvalidUsage, "ncclCommSplit: other ranks call another")); }
        m = c->pending;
        mine->arrive(c->rank, {c, color, key, out, config == nullptr ? c->blocking : config->blocking != 0});
    }
    return take(c, m);
}
}
