// Random choices: the same for the same seed, on every host.
#pragma once

#include <plait/core/philox.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace soak {

class dice {
  public:
    explicit dice(std::uint64_t seed) : seed_(seed) {}

    /// A number in [0, bound).
    int below(int bound) { return static_cast<int>(plait::philox_u32(seed_, next_++) % static_cast<std::uint32_t>(bound)); }
    /// True in so many cases of a hundred.
    bool chance(int percent) { return below(100) < percent; }
    template <class T>
    const T& one_of(const std::vector<T>& all)
    {
        return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
    }

  private:
    std::uint64_t seed_;
    std::uint64_t next_ = 0;
};

}  // namespace soak
