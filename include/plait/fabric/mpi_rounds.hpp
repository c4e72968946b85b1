// How ranks of several hosts meet: every rank tells every other, in about log2(size) rounds of messages.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/mpi_place.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>

namespace plait::detail {

/// Gathers one block of each rank on all ranks (Bruck's algorithm). In the round at distance d a rank sends the first d
/// blocks that it has to the rank d before it and receives as many from the rank d after it.
class mpi_rounds {
  public:
    mpi_rounds(const mpi_place& place, int tag) : place_(place), tag_(tag) {}
    mpi_rounds(const mpi_rounds&) = delete;
    mpi_rounds& operator=(const mpi_rounds&) = delete;
    ~mpi_rounds() { abandon(); }

    /// Makes room for blocks of this size and returns where this rank's goes.
    std::byte* begin(std::size_t block)
    {
        const auto size = static_cast<std::size_t>(place_.size);
        if (block > static_cast<std::size_t>(std::numeric_limits<int>::max()) / size) {
            throw error({"records of ", block, " bytes are too long for ", size, " ranks to exchange"});
        }
        block_ = block;
        if (room_ < block * size) {
            blocks_ = std::make_unique<std::byte[]>(block * size);
            room_ = block * size;
        }
        return blocks_.get();
    }

    /// Makes the rounds. `wait(done)` waits until `done()`, or throws.
    template <class Wait>
    void gather(Wait wait)
    {
        for (int d = 1; d < place_.size; d *= 2) {
            const int count = std::min(d, place_.size - d) * static_cast<int>(block_);
            const int before = (place_.rank + place_.size - d) % place_.size;
            const int after = (place_.rank + d) % place_.size;
            std::byte* fresh = blocks_.get() + static_cast<std::size_t>(d) * block_;
            mpi_check(MPI_Irecv(fresh, count, MPI_BYTE, after, tag_, place_.all, &requests_[0]), "MPI_Irecv");
            mpi_check(MPI_Isend(blocks_.get(), count, MPI_BYTE, before, tag_, place_.all, &requests_[1]),
                      "MPI_Isend");
            wait([this] {
                int done = 0;
                mpi_check(MPI_Testall(2, requests_, &done, MPI_STATUSES_IGNORE), "MPI_Testall");
                return done != 0;
            });
        }
    }

    /// The block of a rank, until the next `begin`.
    [[nodiscard]] const std::byte* of(int rank) const noexcept
    {
        return blocks_.get() + static_cast<std::size_t>((rank + place_.size - place_.rank) % place_.size) * block_;
    }

    /// Takes back what a failure has interrupted. MPI may still touch the blocks, which then stay.
    void abandon() noexcept
    {
        bool interrupted = false;
        for (MPI_Request& r : requests_) {
            if (r == MPI_REQUEST_NULL) { continue; }
            interrupted = true;
            if (!mpi_is_running()) { continue; }
            if (&r == requests_) { MPI_Cancel(&r); }
            MPI_Request_free(&r);
        }
        if (interrupted) {
            static_cast<void>(blocks_.release());
            room_ = 0;
        }
    }

  private:
    const mpi_place& place_;
    int tag_;
    std::size_t block_ = 0;
    std::size_t room_ = 0;
    std::unique_ptr<std::byte[]> blocks_;  // from this rank on, in the order of ranks
    MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace plait::detail
