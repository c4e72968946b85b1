// An all-reduce by kernels that load from all ranks' windows, with LSA barriers: right under all seeds, on several
// devices and on one; and what is found when a barrier or its order is left out.
#include "programs/nccl_ranks.hpp"

#include <nccl_device.h>

constexpr int n_blocks = 2, n_threads = 64, n = 500, n_rounds = 3;

enum fault { complete, no_barrier_before, no_barrier_after, relaxed_barriers };

template <fault F>
__global__ void all_reduce(ncclDevComm comm, ncclWindow_t window, std::size_t offset, const float* in, float* out)
{
    // With multicast memory, if it is there.
    ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x,
                                               comm.lsaMultimem.mcBasePtr != nullptr);
    const auto order = F == relaxed_barriers ? cuda::memory_order_relaxed : cuda::memory_order_acq_rel;
    auto* mine = static_cast<float*>(ncclGetLocalPointer(window, offset));
    const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), step = n_blocks * n_threads;
    for (int round = 0; round < n_rounds; ++round) {
        for (int i = first; i < n; i += step) { mine[i] = in[round * n + i]; }
        if (F != no_barrier_before) { barrier.sync(ncclCoopCta(), order); }
        // The thread beside it reads what it wrote, so that a barrier within the block matters as well.
        for (int i = first ^ 1; i < n; i += step) {
            float sum = 0;
            for (int r = 0; r < comm.lsaSize; ++r) {
                sum += static_cast<const float*>(ncclGetLsaPointer(window, offset, r))[i];
            }
            out[round * n + i] = sum;
        }
        if (F != no_barrier_after) { barrier.sync(ncclCoopCta(), order); }
    }
}

// All to all of small messages, by the session that NCCL has for them.
__global__ void exchange(ncclDevComm comm, ncclLLA2AHandle handle, int* out)
{
    ncclLLA2ASession<ncclCoopCta> session(ncclCoopCta(), comm, ncclTeamLsa(comm), handle, 0, comm.lsaSize);
    const int t = static_cast<int>(threadIdx.x);
    for (int round = 0; round < 3; ++round) {
        if (t < comm.lsaSize) {
            session.send(t, comm.lsaRank, 1000 * round + 10 * comm.lsaRank + t);
            out[round * comm.lsaSize + t] = session.template recv<int>(t);
        }
        session.endEpoch(ncclCoopCta());
    }
}

__global__ void find_window(ncclDevComm comm, const char* memory, ncclWindow_t* found)
{
    const ncclWindow_t w = ncclFindWindow(ncclCoopWarp(), comm, memory);
    if (threadIdx.x == 0) { *found = w; }
}

struct device_ranks : ranks {
    ncclDevComm comms[8];
    ncclLLA2AHandle handles[8];
    ncclWindow_t windows[8];
    buffers memory;

    device_ranks(int count, bool one_device) : ranks(count, one_device), memory(*this, 3 * 4096)
    {
        CHECK(group([&](int r) {
                  CHECK(ncclCommWindowRegister(comm(r), memory.at<char>(r) + 4096, 8192, &windows[r],
                                               NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess);
              }) == ncclSuccess);
        CHECK(group([&](int r) {
                  ncclDevResourceRequirements small{};
                  CHECK(ncclLLA2ACreateRequirement(1, ncclLLA2ACalcSlots(count, sizeof(int)), &handles[r], &small) ==
                        ncclSuccess);
                  ncclDevCommRequirements wanted{};
                  wanted.lsaBarrierCount = n_blocks;
                  wanted.resourceRequirementsList = &small;
                  CHECK(ncclDevCommCreate(comm(r), &wanted, &comms[r]) == ncclSuccess);
              }) == ncclSuccess);
    }
    ~device_ranks()
    {
        for (int r = 0; r < size(); ++r) {
            ncclDevCommDestroy(comm(r), &comms[r]);
            ncclCommWindowDeregister(comm(r), windows[r]);
        }
    }
};

template <fault F>
bool right_with(unsigned seed, int count, bool one_device)
{
    emulator_set_seed(seed);
    const device_ranks all(count, one_device);
    buffers in(all, n_rounds * n * 4), out(all, n_rounds * n * 4);
    for (int r = 0; r < count; ++r) {
        std::vector<float> v(n_rounds * n);
        for (int i = 0; i < n_rounds * n; ++i) { v[i] = static_cast<float>((r + 1) * (i + 1)); }
        in.set(r, v);
    }
    for (int launch = 0; launch < 2; ++launch) {  // the second goes on with the first one's epochs
        for (int r = 0; r < count; ++r) {
            all.set_device(r);
            all_reduce<F><<<n_blocks, n_threads, 0, all.stream(r)>>>(all.comms[r], all.windows[r], 256, in.at<float>(r),
                                                                     out.at<float>(r));
        }
    }
    bool right = all.synchronize();
    for (int r = 0; r < count; ++r) {
        const auto got = out.get<float>(r);
        for (int i = 0; i < n_rounds * n; ++i) {
            right &= got[i] == static_cast<float>(count * (count + 1) / 2 * (i + 1));
        }
    }
    return right;
}

template <fault F>
void find(const char* name)
{
    int found = 0, wrong = 0;
    for (unsigned seed = 1; seed <= 5; ++seed) {
        emulator_clear_reports();
        const bool right = right_with<F>(seed, 3, seed % 2 == 0);
        wrong += !right;
        found += !right || check::reported("race");
    }
    std::printf("%s: found by %d of 5 seeds, %d with wrong results\n", name, found, wrong);
    CHECK(found == 5);
    emulator_clear_reports();
}

void test_other_sessions(int count, bool one_device)
{
    const device_ranks all(count, one_device);
    buffers out(all, 3 * count * sizeof(int)), found(all, sizeof(ncclWindow_t));
    for (int r = 0; r < count; ++r) {
        all.set_device(r);
        exchange<<<1, 32, 0, all.stream(r)>>>(all.comms[r], all.handles[r], out.at<int>(r));
        find_window<<<1, 32, 0, all.stream(r)>>>(all.comms[r], all.memory.at<char>(r) + 5000,
                                                 found.at<ncclWindow_t>(r));
    }
    CHECK(all.synchronize());
    for (int r = 0; r < count; ++r) {
        const auto got = out.get<int>(r);
        bool right = true;
        for (int round = 0; round < 3; ++round) {
            for (int k = 0; k < count; ++k) { right &= got[round * count + k] == 1000 * round + 10 * k + r; }
        }
        CHECK(right);
        CHECK(found.get<ncclWindow_t>(r)[0] == all.windows[r]);
    }
}

void test_host_side()
{
    ranks all(4, false);
    buffers memory(all, 8192);
    all.set_device(0);
    ncclWindow_t w = nullptr;
    void* other = nullptr;
    cudaMalloc(&other, 4096);
    CHECK(ncclCommWindowRegister(all.comm(0), other, 4096, &w, 0) == ncclUnhandledCudaError);  // not ncclMemAlloc's
    CHECK(ncclCommWindowRegister(all.comm(0), memory.at<char>(0) + 64, 128, &w, 0) == ncclInvalidArgument);
    CHECK(ncclCommWindowRegister(all.comm(0), memory.at(0), 9000, &w, 0) == ncclInvalidArgument);
    void* handle = nullptr;
    CHECK(ncclCommRegister(all.comm(0), other, 4096, &handle) == ncclSuccess);
    CHECK(ncclCommDeregister(all.comm(0), handle) == ncclSuccess);
    CHECK(ncclCommRegister(all.comm(0), other, 4097, &handle) == ncclInvalidArgument);
    cudaFree(other);
    const ncclTeam_t world = ncclTeamWorld(all.comm(2)), lsa = ncclTeamLsa(all.comm(2)),
                     rail = ncclTeamRail(all.comm(2));
    CHECK(world.nRanks == 4 && world.rank == 2 && world.stride == 1);
    CHECK(lsa.nRanks == 4 && lsa.rank == 2 && rail.nRanks == 1 && rail.rank == 0);
    CHECK(ncclTeamRankToWorld(all.comm(2), lsa, 3) == 3 && ncclTeamRankToLsa(all.comm(2), world, 1) == 1);
    // Two nodes of two ranks.
    setenv("EMULATOR_NCCL_LSA_SIZE", "2", 1);
    {
        ranks two(4, false);
        CHECK(ncclTeamLsa(two.comm(3)).nRanks == 2 && ncclTeamLsa(two.comm(3)).rank == 1);
        CHECK(ncclTeamRail(two.comm(3)).nRanks == 2 && ncclTeamRail(two.comm(3)).rank == 1 &&
              ncclTeamRail(two.comm(3)).stride == 2);
    }
    unsetenv("EMULATOR_NCCL_LSA_SIZE");
}

int main()
{
    for (unsigned seed = 0; seed < 10; ++seed) {
        for (int count = 1; count <= 4; ++count) {
            CHECK(right_with<complete>(seed, count, false));
            CHECK(right_with<complete>(seed, count, true));
        }
        test_other_sessions(1 + static_cast<int>(seed % 4), seed % 2 == 1);
    }
    test_host_side();
    CHECK(emulator_report_count() == 0);
    check::quiet();
    find<no_barrier_before>("no barrier before the loads");
    find<no_barrier_after>("no barrier before the window is used again");
    find<relaxed_barriers>("barriers without release and acquire");
    return check::result();
}
