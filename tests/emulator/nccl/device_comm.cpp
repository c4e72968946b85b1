// Device communicators: what kernels know of the ranks, and the memory of their barriers.
#include "error.hpp"
#include "group.hpp"
#include "window.hpp"

#include <algorithm>
#include <cstring>

using namespace emulator;
using namespace emulator::nccl;

namespace {

struct device_comm_part {
    std::shared_ptr<ncclComm> of;
    ncclDevComm made{};
    std::size_t bytes = 0;
    ncclDevComm* out = nullptr;
};

ncclTeam_t lsa_team(const ncclComm& c) { return {c.all->lsa_size, c.rank % c.all->lsa_size, 1}; }

ncclResult_t check(const ncclComm& c, const ncclDevCommRequirements& wanted)
{
    bool multimem = wanted.lsaMultimem;
    for (auto* t = wanted.teamRequirementsList; t != nullptr; t = t->next) { multimem |= t->multimem; }
    if (multimem && !c.all->multimem) {
        return set_error(ncclInvalidArgument, "ncclDevCommCreate: multimem is not there on these devices");
    }
    for (auto* t = wanted.teamRequirementsList; t != nullptr; t = t->next) {
        if (t->multimem && (t->team.nRanks != c.all->lsa_size || t->team.stride != 1)) {
            return set_error(ncclInvalidUsage,
                             "ncclDevCommCreate: multimem of other teams than the LSA team is not implemented");
        }
    }
    bool gin = wanted.ginForceEnable || wanted.ginSignalCount > 0 || wanted.ginCounterCount > 0 ||
               (c.all->lsa_size < c.ranks && (wanted.barrierCount > 0 || wanted.railGinBarrierCount > 0));
    for (auto* r = wanted.resourceRequirementsList; r != nullptr; r = r->next) {
        gin |= r->ginSignalCount > 0 || r->ginCounterCount > 0;
    }
    if (gin) { return set_error(ncclInvalidUsage, "ncclDevCommCreate: GIN is not implemented by the emulator"); }
    return ncclSuccess;
}

/// Lays out the resources one after the other; their handles count 128 bytes.
device_comm_part lay_out(const std::shared_ptr<ncclComm>& c, const ncclDevCommRequirements& wanted, ncclDevComm* out)
{
    device_comm_part p{c, {}, 0, out};
    const ncclTeam_t team = lsa_team(*c);
    p.made.rank = c->rank;
    p.made.nRanks = c->ranks;
    p.made.nRanks_rcp32 = ::nccl::utility::idivRcp32(static_cast<std::uint32_t>(c->ranks));
    p.made.lsaRank = team.rank;
    p.made.lsaSize = team.nRanks;
    p.made.lsaSize_rcp32 = ::nccl::utility::idivRcp32(static_cast<std::uint32_t>(team.nRanks));
    if (wanted.lsaMultimem) { p.made.lsaMultimem.mcBasePtr = multicast_base(*c); }
    for (auto* t = wanted.teamRequirementsList; t != nullptr; t = t->next) {
        if (t->multimem && t->outMultimemHandle != nullptr) { t->outMultimemHandle->mcBasePtr = multicast_base(*c); }
    }
    const auto place = [&](const ncclDevResourceRequirements& r) {
        const std::size_t align = std::max<std::size_t>(128, r.bufferAlign);
        p.bytes = (p.bytes + align - 1) / align * align;
        if (r.outBufferHandle != nullptr) { *r.outBufferHandle = static_cast<ncclDevResourceHandle>(p.bytes / 128); }
        p.bytes += r.bufferSize;
    };
    ncclDevResourceRequirements barriers{};
    ncclLsaBarrierCreateRequirement(team, std::max(wanted.lsaBarrierCount, wanted.barrierCount), &p.made.lsaBarrier,
                                    &barriers);
    place(barriers);
    for (auto* r = wanted.resourceRequirementsList; r != nullptr; r = r->next) { place(*r); }
    return p;
}

ncclResult_t make_device_comms(std::vector<device_comm_part>& parts)
{
    std::vector<window_part> windows;
    for (device_comm_part& p : parts) {
        if (p.bytes != parts[0].bytes) {
            return set_error(ncclInvalidArgument, "ncclDevCommCreate: ranks ask for different resources");
        }
        if (p.bytes != 0) {
            void* memory = extension::allocate(p.of->device, p.bytes, "resources of ncclDevCommCreate", true);
            windows.push_back({p.of, memory, p.bytes, 0, &p.made.resourceWindow, true});
        }
    }
    if (!windows.empty()) { make_window(windows); }
    for (device_comm_part& p : parts) {
        p.made.windowTable = window_table(*p.of);
        if (p.made.resourceWindow != nullptr) {
            std::memcpy(&p.made.resourceWindow_inlined, p.made.resourceWindow, sizeof p.made.resourceWindow_inlined);
        }
        *p.out = p.made;
    }
    return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclDevCommCreate(ncclComm_t comm, ncclDevCommRequirements_t const* wanted, ncclDevComm_t* out)
{
    std::shared_ptr<ncclComm> c;
    std::shared_ptr<meeting> m;
    {
        const extension::lock hold;
        ncclResult_t why = ncclSuccess;
        c = find_usable(comm, "ncclDevCommCreate", why);
        if (!c) { return refuse(why); }
        if (wanted == nullptr || out == nullptr) {
            return refuse(set_error(ncclInvalidArgument, "ncclDevCommCreate: a null argument"));
        }
        if (const ncclResult_t r = check(*c, *wanted); r != ncclSuccess) { return refuse(r); }
        if (wanted->lsaLLA2ABlockCount != 0) {
            extension::stop("ncclDevCommCreate: lsaLLA2ABlockCount is not implemented; use ncclLLA2ACreateRequirement");
        }
        auto* mine = meet<device_comm_part>(*c, "ncclDevCommCreate", make_device_comms);
        if (mine == nullptr) {
            return refuse(set_error(ncclInvalidUsage, "ncclDevCommCreate: other ranks call another"));
        }
        m = c->pending;
        mine->arrive(c->rank, lay_out(c, *wanted, out));
    }
    return take(c, m);
}

ncclResult_t ncclDevCommDestroy(ncclComm_t comm, ncclDevComm_t const* made)
{
    const extension::lock hold;
    const auto c = find(comm);
    if (!c || made == nullptr) { return set_error(ncclInvalidArgument, "ncclDevCommDestroy: a wrong argument"); }
    if (made->resourceWindow != nullptr) { remove_window(*c, made->resourceWindow); }
    return ncclSuccess;
}

ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t team, int barriers, ncclLsaBarrierHandle_t* handle,
                                             ncclDevResourceRequirements_t* out)
{
    if (handle == nullptr || out == nullptr || barriers < 0) { return ncclInvalidArgument; }
    // The epochs of both kinds of barrier, the multicast inbox, and an inbox for each rank: see ncclLsaBarrierSession.
    *out = {};
    handle->nBarriers = barriers;
    out->bufferSize =
        static_cast<std::size_t>(barriers) * static_cast<std::size_t>(3 + team.nRanks) * sizeof(std::uint32_t);
    out->bufferAlign = alignof(std::uint32_t);
    out->outBufferHandle = &handle->bufHandle;
    return ncclSuccess;
}

int ncclLLA2ACalcSlots(int elements, int size) { return elements * ((size + 7) / 8); }

ncclResult_t ncclLLA2ACreateRequirement(int blocks, int slots, ncclLLA2AHandle_t* handle,
                                        ncclDevResourceRequirements_t* out)
{
    if (handle == nullptr || out == nullptr || blocks < 0 || slots < 0) { return ncclInvalidArgument; }
    // For each block the epoch, and two sets of slots of 16 bytes: see ncclLLA2ASession.
    *out = {};
    handle->nSlots = static_cast<std::uint32_t>(slots);
    out->bufferSize = static_cast<std::size_t>(blocks) * (1 + 2 * static_cast<std::size_t>(slots)) * 16;
    out->bufferAlign = 16;
    out->outBufferHandle = &handle->bufHandle;
    return ncclSuccess;
}

ncclTeam_t ncclTeamWorld(ncclComm_t comm)
{
    const extension::lock hold;
    const auto c = find(comm);
    return c ? ncclTeam_t{c->ranks, c->rank, 1} : ncclTeam_t{};
}

ncclTeam_t ncclTeamLsa(ncclComm_t comm)
{
    const extension::lock hold;
    const auto c = find(comm);
    return c && c->all ? lsa_team(*c) : ncclTeam_t{};
}

ncclTeam_t ncclTeamRail(ncclComm_t comm)
{
    return ncclTeamOuterFactor(ncclTeamWorld(comm), std::max(1, ncclTeamLsa(comm).nRanks));
}

int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank)
{
    return ncclTeamWorld(comm).rank + (rank - team.rank) * team.stride;
}

int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank)
{
    return ncclTeamLsa(comm).rank + (rank - team.rank) * team.stride;
}
}
