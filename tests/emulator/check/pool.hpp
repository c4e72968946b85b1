// Records that are referred to by number, many and short-lived: kept in blocks that never move.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace emulator {

/// Number 0 is none. Never destroyed: kernels may run in exit handlers.
template <class Record>
class pool {
  public:
    constexpr pool() = default;

    Record& at(std::uint32_t index) { return blocks_[index / block_size][index % block_size]; }
    /// A record as it was constructed, or given back.
    std::uint32_t take()
    {
        if (n_free_ < ahead) { grow(); }
        const std::uint32_t index = free_[--n_free_];
        __builtin_prefetch(&at(free_[n_free_ - (ahead - 1)]), 1);
        return index;
    }
    void give_back(std::uint32_t index) { free_[n_free_++] = index; }

  private:
    static constexpr std::uint32_t block_size = 4096;
    static constexpr std::uint32_t ahead = 4;  ///< as many takes later a record is used that is fetched now

    [[gnu::noinline]] void grow()
    {
        blocks_ = static_cast<Record**>(std::realloc(blocks_, (n_blocks_ + 1) * sizeof(Record*)));
        free_ = static_cast<std::uint32_t*>(std::realloc(free_, (n_blocks_ + 1) * block_size * sizeof(std::uint32_t)));
        blocks_[n_blocks_] = new Record[block_size];
        const std::uint32_t first = n_blocks_ * block_size;
        for (std::uint32_t k = block_size; k-- > (first == 0 ? 1u : 0u);) { free_[n_free_++] = first + k; }
        ++n_blocks_;
    }

    Record** blocks_ = nullptr;
    std::uint32_t* free_ = nullptr;  ///< a stack of their numbers, so that none of them is touched before it is used
    std::uint32_t n_blocks_ = 0;
    std::uint32_t n_free_ = 0;
};

}  // namespace emulator
