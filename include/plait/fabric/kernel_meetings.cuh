// What a rank's kernels meet those of others with, and what they report: for all fabrics whose ranks have devices.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/error.hpp>
#include <plait/target/cuda/mapped_memory.cuh>
#include <plait/target/cuda/meeting.cuh>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace plait::cuda {

/// A rank's signals and epochs, and the names of the stages that its kernels may report.
class kernel_meetings {
  public:
    /// Words of device memory that each rank of `ranks` must have, zeroed, where all others reach them.
    [[nodiscard]] static constexpr std::size_t words(int ranks) noexcept
    {
        return max_meeting_blocks * static_cast<std::size_t>(ranks) * 2;
    }

    kernel_meetings() : report_(sizeof(failure_report)) { new (report_.here<void>()) failure_report; }

    /// `mine`: this rank's words; `all`: a table on this device that tells where all ranks' are. `abandoned`: a word there
    /// that is 1 + the rank that has failed, or null.
    void connect(int rank, int ranks, std::uint32_t* mine, std::uint32_t* const* all, const std::uint32_t* abandoned = nullptr)
    {
        meeting_.signals = all;
        meeting_.epochs = mine + max_meeting_blocks * static_cast<std::size_t>(ranks);
        meeting_.report = report_.there<failure_report>();
        meeting_.abandoned = abandoned;
        meeting_.rank = rank;
        meeting_.ranks = ranks;
    }

    /// Instead, where this rank's kernels reach no memory of others: they never meet, and only report.
    void stay_alone(int rank, int ranks)
    {
        meeting_.report = report_.there<failure_report>();
        meeting_.rank = rank;
        meeting_.ranks = ranks;
    }

    /// How this rank's kernels meet those of all others, for no longer than `deadline`, in what errors call `stage`.
    [[nodiscard]] meeting in(std::string stage, std::chrono::nanoseconds deadline)
    {
        meeting m = meeting_;
        m.limit = static_cast<std::uint64_t>(std::max<std::chrono::nanoseconds::rep>(deadline.count(), 0));
        m.stage = static_cast<int>(plait::detail::find(stages_, stage) - stages_.begin());
        if (m.stage == static_cast<int>(stages_.size())) { stages_.push_back(std::move(stage)); }
        if (m.ranks == 1) { m.signals = nullptr; }
        return m;
    }

    /// What a kernel has reported, or nothing.
    [[nodiscard]] std::string problem() const
    {
        const volatile failure_report& r = *report_.here<failure_report>();
        const std::uint32_t code = r.code;
        if (code == 0 || code == 0xffff'ffffU) { return {}; }
        const std::string& stage = stages_[static_cast<std::size_t>(r.stage)];
        if (code == 1) { return joined({"waited too long in '", stage, "' for rank ", static_cast<int>(r.peer)}); }
        if (code == 3) { return joined({"rank ", static_cast<int>(r.peer), " failed while this one waited in '", stage, "'"}); }
        return joined({stage, ": an index is ", static_cast<std::int64_t>(r.value), ", the table has ",
                       static_cast<std::int64_t>(r.limit), " rows; indices must lie in [0, ",
                       static_cast<std::int64_t>(r.limit), ")"});
    }
    /// Ends the waits of this rank's kernels. May be called by other threads.
    void abandon() noexcept { *static_cast<volatile std::uint32_t*>(&report_.here<failure_report>()->abandon) = 1; }

  private:
    mapped_memory report_;
    meeting meeting_;
    std::vector<std::string> stages_;
};

}  // namespace plait::cuda
