// Where the ranks' memory lies.
#pragma once

#include <plait/fabric/communicator.hpp>

#include <cstddef>
#include <vector>

namespace plait::detail {

/// By rank, where this one finds the `count` values that each has at `mine`, in memory from `allocate`. A meeting; `where` is
/// its name in errors.
template <class T, class Communicator>
std::vector<T*> addresses_on_all_ranks(Communicator& comm, T* mine, std::size_t count, const char* where)
{
    const buffer_handle own = comm.handle_of(mine, count * sizeof(T));
    std::vector<T*> all;
    for (const void* theirs : comm.exchange(&own, sizeof own, where)) {
        const int r = static_cast<int>(all.size());
        all.push_back(static_cast<T*>(comm.resolve(r, *static_cast<const buffer_handle*>(theirs))));
    }
    return all;
}

}  // namespace plait::detail
