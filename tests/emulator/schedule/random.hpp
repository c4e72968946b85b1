// The seeded numbers that every choice of the emulator comes from.
#pragma once

#include <cstdint>

namespace emulator {

/// xorshift64*.
class random_source {
  public:
    explicit random_source(std::uint64_t seed) : state_{seed * 0x9e37'79b9'7f4a'7c15u + 0x1234'5678'9abc'def1u} {}

    std::uint32_t next()
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::uint32_t>((state_ * 0x2545'f491'4f6c'dd1du) >> 32);
    }
    /// Of 0 to n - 1.
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((std::uint64_t{next()} * n) >> 32); }
    bool one_in(std::uint32_t n) { return below(n) == 0; }

  private:
    std::uint64_t state_;
};

/// The one that all choices come from; the seed is settings().seed.
random_source& random_choices();
void seed_random_choices(std::uint64_t seed);

}  // namespace emulator
