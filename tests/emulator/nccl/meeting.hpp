// Calls that wait on the host for all ranks, such as ncclCommInitRank: the last rank to come does the work for all.
#pragma once

#include <nccl.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace emulator::nccl {

class meeting {
  public:
    meeting(std::string what, int ranks) : what_{std::move(what)}, here_(static_cast<std::size_t>(ranks)) {}
    virtual ~meeting() = default;

    const std::string& what() const { return what_; }
    bool done() const { return done_; }
    ncclResult_t result() const { return result_; }
    /// Ends it without its work, as a rank gives up.
    void end(ncclResult_t result)
    {
        done_ = true;
        result_ = result;
    }
    /// `1, 3`: the ranks that have not come.
    std::string missing() const;

  protected:
    bool come(int rank);  ///< false: it was here before
    bool complete() const { return n_here_ == here_.size(); }

  private:
    std::string what_;
    std::vector<bool> here_;
    std::size_t n_here_ = 0;
    bool done_ = false;
    ncclResult_t result_ = ncclSuccess;
};

/// Each rank brings a T; `finish` sees them in the order of ranks.
template <class T>
class meeting_of : public meeting {
  public:
    using finish_function = std::function<ncclResult_t(std::vector<T>&)>;

    meeting_of(std::string what, int ranks, finish_function finish)
        : meeting(std::move(what), ranks), brought_(static_cast<std::size_t>(ranks)), finish_{std::move(finish)}
    {
    }
    ncclResult_t arrive(int rank, T with)
    {
        if (done()) { return result() != ncclSuccess ? result() : ncclInvalidUsage; }
        if (!come(rank)) { return ncclInvalidUsage; }
        brought_[static_cast<std::size_t>(rank)] = std::move(with);
        if (complete()) { end(finish_(brought_)); }
        return ncclSuccess;
    }

  private:
    std::vector<T> brought_;
    finish_function finish_;
};

/// Waits until it is done, at most as long as the settings say. The lock must not be held.
ncclResult_t wait_for(meeting& m, const std::function<bool()>& given_up);

}  // namespace emulator::nccl
