// MPI's C functions, and an exception in place of their return codes.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <plait/core/error.hpp>

#include <cstddef>
#include <string_view>

namespace plait::detail {

[[noreturn, gnu::cold]] inline void throw_mpi_error(int code, const char* function)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) { length = 0; }
    throw error({function, " failed: ", std::string_view(text, static_cast<std::size_t>(length)), " (code ", code, ")"});
}

/// Throws plait::error with MPI's text if `code`, which `function` returned, is an error.
inline void mpi_check(int code, const char* function)
{
    if (code != MPI_SUCCESS) { throw_mpi_error(code, function); }
}

/// Between MPI_Init and MPI_Finalize. Both questions may be asked at any time.
inline bool mpi_is_running() noexcept
{
    int begun = 0;
    int ended = 0;
    return MPI_Initialized(&begun) == MPI_SUCCESS && MPI_Finalized(&ended) == MPI_SUCCESS && begun != 0 && ended == 0;
}

}  // namespace plait::detail
