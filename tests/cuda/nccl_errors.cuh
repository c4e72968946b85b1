// What ranks of NCCL throw, for tests of failures.
#pragma once

#include "cuda/nccl_ranks.cuh"
#include "cuda/values.cuh"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace nccl_test {

/// What each of n ranks throws in f(comm, nccl).
template <class F>
std::vector<std::string> thrown_on(int n, F&& f, std::chrono::nanoseconds deadline = plait::default_deadline)
{
    std::vector<std::string> all(static_cast<std::size_t>(n));
    static_cast<void>(cuda_test::thrown_by([&] {
        run(
            n,
            [&](plait::nccl_communicator& comm, ncclComm_t nccl) {
                std::string& mine = all[static_cast<std::size_t>(comm.rank())];
                mine = cuda_test::thrown_by([&] {
                    f(comm, nccl);
                    comm.synchronize();
                });
                if (mine != "nothing") { throw plait::error({"after the error"}); }
            },
            deadline);
    }));
    return all;
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Counts ranks that are done with waiting for another.
class done_count {
  public:
    void add() { ++count_; }
    void wait_for(int n) const
    {
        while (count_ < n) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
    }

  private:
    std::atomic<int> count_ = 0;
};

}  // namespace nccl_test
