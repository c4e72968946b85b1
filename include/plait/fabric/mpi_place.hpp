// Where a rank stands among processes: its own MPI communicators, and which ranks share its host.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/mpi_api.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace plait::detail {

/// Whether PLAIT_MPI_SHARED=0 asks that ranks share no memory even on one host.
inline bool mpi_sharing_is_off()
{
    const char* value = std::getenv("PLAIT_MPI_SHARED");
    return value != nullptr && std::string_view(value) == "0";
}

/// Making one is collective over `users`. `host`: see mpi_options.
class mpi_place {
  public:
    mpi_place(MPI_Comm users, int host)
    {
        if (!mpi_is_running()) {
            throw error("an mpi_communicator needs a running MPI: make it after MPI_Init and before MPI_Finalize");
        }
        int links_groups = 0;
        if (users != MPI_COMM_NULL) { mpi_check(MPI_Comm_test_inter(users, &links_groups), "MPI_Comm_test_inter"); }
        if (users == MPI_COMM_NULL || links_groups != 0) {
            throw error("an mpi_communicator needs an MPI communicator of one group, not MPI_COMM_NULL or one of two");
        }
        all = copy_of(users);
        mpi_check(MPI_Comm_rank(all, &rank), "MPI_Comm_rank");
        mpi_check(MPI_Comm_size(all, &size), "MPI_Comm_size");
        join_host(host);
        mpi_check(MPI_Comm_rank(node, &seat), "MPI_Comm_rank");
        seats_.assign(static_cast<std::size_t>(size), -1);
        for (std::size_t s = 0; s < neighbours.size(); ++s) {
            seats_[static_cast<std::size_t>(neighbours[s])] = static_cast<int>(s);
        }
    }

    mpi_place(const mpi_place&) = delete;
    mpi_place& operator=(const mpi_place&) = delete;

    [[nodiscard]] bool alone() const noexcept { return neighbours.size() == 1; }
    [[nodiscard]] bool one_host() const noexcept { return neighbours.size() == static_cast<std::size_t>(size); }

    /// The place of a rank among those of this host, or -1.
    [[nodiscard]] int seat_of(int r) const noexcept
    {
        return r >= 0 && r < size ? seats_[static_cast<std::size_t>(r)] : -1;
    }

    /// Collective. Not called after a failure: then MPI keeps its communicators until it ends.
    void free() noexcept
    {
        MPI_Comm_free(&node);
        MPI_Comm_free(&all);
    }

    MPI_Comm all = MPI_COMM_NULL;   // a copy, so that nobody else's messages mix with the fabric's
    MPI_Comm node = MPI_COMM_NULL;  // the ranks that share this host
    int rank = 0;
    int size = 1;
    int seat = 0;                 // this rank's place among those of this host
    std::vector<int> neighbours;  // the ranks of this host, by seat
    bool core_each = false;       // this machine has a hardware thread for each rank on it

  private:
    static MPI_Comm copy_of(MPI_Comm comm)
    {
        MPI_Comm copy = MPI_COMM_NULL;
        mpi_check(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
        mpi_check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        return copy;
    }

    /// Ranks are on one host if MPI says that they can share memory and nobody says that they should not.
    void join_host(int host)
    {
        mpi_check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
        int on_machine = 1;
        mpi_check(MPI_Comm_size(node, &on_machine), "MPI_Comm_size");
        core_each = static_cast<unsigned>(on_machine) <= std::thread::hardware_concurrency();

        constexpr int by_itself = -2;
        const int wish = mpi_sharing_is_off() ? by_itself : std::max(host, -1);
        const int mine[2] = {rank, wish};
        std::vector<int> wishes(2 * static_cast<std::size_t>(on_machine));
        mpi_check(MPI_Allgather(mine, 2, MPI_INT, wishes.data(), 2, MPI_INT, node), "MPI_Allgather");
        bool all_alike = wish != by_itself;
        for (std::size_t i = 0; i < wishes.size(); i += 2) {
            if (wishes[i + 1] == wish && (wish != by_itself || wishes[i] == rank)) { neighbours.push_back(wishes[i]); }
            all_alike = all_alike && wishes[i + 1] == wish;
        }
        if (!all_alike) {
            MPI_Comm machine = std::exchange(node, MPI_COMM_NULL);
            mpi_check(MPI_Comm_split(machine, wish == by_itself ? MPI_UNDEFINED : wish + 1, rank, &node), "MPI_Comm_split");
            mpi_check(MPI_Comm_free(&machine), "MPI_Comm_free");
            if (wish == by_itself) { mpi_check(MPI_Comm_dup(MPI_COMM_SELF, &node), "MPI_Comm_dup"); }
        }
        mpi_check(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }

    std::vector<int> seats_;  // by rank
};

}  // namespace plait::detail
