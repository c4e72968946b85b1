// Where a rank stands among processes: its own MPI communicators, and which ranks share its host.
#pragma once

#include <plait/fabric/mpi_api.hpp>

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <thread>
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
        meetings = copy_of(users);
        data = copy_of(users);
        mpi_check(MPI_Comm_rank(meetings, &rank), "MPI_Comm_rank");
        mpi_check(MPI_Comm_size(meetings, &size), "MPI_Comm_size");
        join_host(host);
        meet_neighbours();
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
        MPI_Comm_free(&data);
        MPI_Comm_free(&meetings);
    }

    MPI_Comm meetings = MPI_COMM_NULL;  // the fabric's own messages
    MPI_Comm data = MPI_COMM_NULL;      // messages that its user starts
    MPI_Comm node = MPI_COMM_NULL;      // the ranks that share this host
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
        MPI_Comm machine = MPI_COMM_NULL;
        mpi_check(MPI_Comm_split_type(meetings, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine),
                  "MPI_Comm_split_type");
        int ranks_here = 1;
        mpi_check(MPI_Comm_size(machine, &ranks_here), "MPI_Comm_size");
        core_each = static_cast<unsigned>(ranks_here) <= std::thread::hardware_concurrency();

        const bool by_itself = mpi_sharing_is_off();
        const int colour = by_itself ? MPI_UNDEFINED : host < 0 ? 0 : 1 + host;
        mpi_check(MPI_Comm_split(machine, colour, rank, &node), "MPI_Comm_split");
        mpi_check(MPI_Comm_free(&machine), "MPI_Comm_free");
        if (by_itself) { node = copy_of(MPI_COMM_SELF); }
        mpi_check(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }

    void meet_neighbours()
    {
        int count = 1;
        mpi_check(MPI_Comm_size(node, &count), "MPI_Comm_size");
        mpi_check(MPI_Comm_rank(node, &seat), "MPI_Comm_rank");
        neighbours.resize(static_cast<std::size_t>(count));
        mpi_check(MPI_Allgather(&rank, 1, MPI_INT, neighbours.data(), 1, MPI_INT, node), "MPI_Allgather");
        seats_.assign(static_cast<std::size_t>(size), -1);
        for (int s = 0; s < count; ++s) {
            seats_[static_cast<std::size_t>(neighbours[static_cast<std::size_t>(s)])] = s;
        }
    }

    std::vector<int> seats_;  // by rank
};

}  // namespace plait::detail
