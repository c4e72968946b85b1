// Memory of several ranks that has addresses at which one request reaches all of them.
#pragma once

#include <plait/core/view.hpp>

#include <cstddef>

namespace plait::cuda {

/// What a communicator that offers multicast has, and tells the runner by a member `multicast()`.
class multicast_memory {
  public:
    multicast_memory() = default;
    multicast_memory(const multicast_memory&) = delete;
    multicast_memory& operator=(const multicast_memory&) = delete;
    virtual ~multicast_memory() = default;
    /// Where multimem instructions of this rank reach what lies at these addresses, which are this rank's view of all ranks'
    /// memory, by rank. Null if it has no such address; if so, on all ranks.
    [[nodiscard]] virtual std::byte* find(view<std::byte* const> by_rank) const = 0;
};

}  // namespace plait::cuda
