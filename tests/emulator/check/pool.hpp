// Records that are referred to by number, many and short-lived: kept in blocks that never move.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace emulator {

/// Number 0 is none. `Link` is the member that a free record uses to name the next free one. Never destroyed: kernels
/// may run in exit handlers.
template <class Record, auto Link>
class pool {
  public:
    constexpr pool() = default;

    Record& at(std::uint32_t index) { return blocks_[index / block_size][index % block_size]; }
    /// A record as it was constructed, or given back.
    std::uint32_t take()
    {
        if (free_ == 0) { grow(); }
        const std::uint32_t index = free_;
        free_ = at(index).*Link;
        __builtin_prefetch(&at(free_), 1);  // the next one to be taken
        at(index).*Link = 0;
        return index;
    }
    void give_back(std::uint32_t index)
    {
        at(index).*Link = free_;
        free_ = index;
    }

  private:
    static constexpr std::uint32_t block_size = 4096;

    [[gnu::noinline]] void grow()
    {
        blocks_ = static_cast<Record**>(std::realloc(blocks_, (n_blocks_ + 1) * sizeof(Record*)));
        blocks_[n_blocks_] = new Record[block_size];
        const std::uint32_t first = n_blocks_ * block_size;
        for (std::uint32_t k = block_size; k-- > (first == 0 ? 1u : 0u);) {
            blocks_[n_blocks_][k].*Link = free_;
            free_ = first + k;
        }
        ++n_blocks_;
    }

    Record** blocks_ = nullptr;
    std::uint32_t n_blocks_ = 0;
    std::uint32_t free_ = 0;
};

}  // namespace emulator
