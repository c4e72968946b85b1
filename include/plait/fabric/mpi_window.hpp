// One block of memory that the ranks of a host share, with a part for each of them.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/mpi_place.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace plait::detail {

/// Made by all ranks of a host together, each asking for `bytes` of its own, aligned to 64. Peers' parts are touched
/// with plain and atomic accesses. A rank that is alone on its host gets memory of its own.
class mpi_window {
  public:
    mpi_window(const mpi_place& place, std::size_t bytes) : parts_(place.neighbours.size())
    {
        if (place.alone()) {
            parts_[0] = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}));
            return;
        }
        MPI_Info info = MPI_INFO_NULL;
        mpi_check(MPI_Info_create(&info), "MPI_Info_create");
        mpi_check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
        void* own = nullptr;
        const int made = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes + alignment), 1, info, place.node, &own,
                                                 &window_);
        MPI_Info_free(&info);
        mpi_check(made, "MPI_Win_allocate_shared (PLAIT_MPI_SHARED=0 does without shared memory)");
        mpi_check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
        int* model = nullptr;
        int known = 0;
        mpi_check(MPI_Win_get_attr(window_, MPI_WIN_MODEL, static_cast<void*>(&model), &known), "MPI_Win_get_attr");
        if (known == 0 || *model != MPI_WIN_UNIFIED) {
            throw error("this MPI's shared windows lack the unified memory model; PLAIT_MPI_SHARED=0 does without them");
        }
        mpi_check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
        for (std::size_t s = 0; s < parts_.size(); ++s) {
            MPI_Aint size = 0;
            int unit = 1;
            void* start = nullptr;
            mpi_check(MPI_Win_shared_query(window_, static_cast<int>(s), &size, &unit, static_cast<void*>(&start)),
                      "MPI_Win_shared_query");
            parts_[s] = aligned(start);
        }
    }

    mpi_window(const mpi_window&) = delete;
    mpi_window& operator=(const mpi_window&) = delete;

    /// Where the part of a seat begins, in this process.
    [[nodiscard]] std::byte* part(int seat) const noexcept { return parts_[static_cast<std::size_t>(seat)]; }

    /// Collective. A window that is not freed stays until its process ends: after a failure nobody can wait for others.
    void free() noexcept
    {
        if (window_ == MPI_WIN_NULL) { return ::operator delete(parts_[0], std::align_val_t{alignment}); }
        MPI_Win_unlock_all(window_);
        MPI_Win_free(&window_);
    }

  private:
    static constexpr std::size_t alignment = 64;

    /// Pages are mapped whole, so that this is the same byte in every process.
    static std::byte* aligned(void* p)
    {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        return static_cast<std::byte*>(p) + ((alignment - address % alignment) % alignment);
    }

    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<std::byte*> parts_;
};

}  // namespace plait::detail
