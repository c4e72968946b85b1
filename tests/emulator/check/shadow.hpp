// What the race checker keeps of memory: for each 4 bytes (or byte, where parts of them are accessed) the last stores,
// of which loads may still return some, and who has read since.
#pragma once

#include "clock.hpp"
#include "pool.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace emulator {

struct instruction;

/// How an access takes part in synchronisation.
struct strength {
    bool strong = false;     ///< volatile, relaxed or stronger
    std::uint8_t scope = 0;  ///< emulator::scope
};

struct store_record {
    stamp by;
    strength how;
    std::uint8_t message_scope = 0;
    std::uint32_t older = 0;                   ///< the store before it; 0: none
    std::uint32_t value = 0;                   ///< of the cell after it
    std::uint64_t sequence = 0;                ///< the same for all cells of one store
    std::shared_ptr<const knowledge> message;  ///< what a load that acquires it learns
    std::uint32_t message_block = 0;
    const instruction* where = nullptr;
};

struct reader_record {
    std::uint32_t block = 0;
    std::uint32_t epoch = 0;
    std::uint32_t lanes = 0;
    std::uint16_t warp = 0;
    strength how;
    std::uint32_t next = 0;
    const instruction* where = nullptr;
};

/// Four bytes, or one of them.
struct cell {
    std::uint32_t last = 0;     ///< store_record; 0: what was there before kernels stored
    std::uint32_t readers = 0;  ///< reader_record; 0: none
};

struct shadow_page {
    static constexpr std::uint64_t bytes = 4096;
    std::array<cell, bytes / 4> cells;
    std::map<std::uint32_t, std::array<cell, 4>> split;  ///< cells whose bytes are kept apart
};

class shadow_memory {
  public:
    explicit shadow_memory(std::uint64_t size) : pages_((size + shadow_page::bytes - 1) / shadow_page::bytes) {}
    ~shadow_memory();

    /// A copy that has read a part of a page.
    struct copy_reader {
        std::uint32_t record = 0;
        std::uint64_t begin = 0;  ///< in the allocation
        std::uint64_t end = 0;

        [[nodiscard]] bool meets(std::uint64_t from, std::uint64_t to) const { return begin < to && from < end; }
    };
    struct entry {
        std::unique_ptr<shadow_page> cells;
        std::uint32_t writer = 0;          ///< the copy or fill that wrote the page last; 0: none
        std::vector<copy_reader> readers;  ///< copies that have read it since

        shadow_page& page()
        {
            if (!cells) { cells = std::make_unique<shadow_page>(); }
            return *cells;
        }
        /// Forgets all accesses to the page's cells.
        void clear();
    };
    entry& entry_of(std::uint64_t offset) { return pages_[offset / shadow_page::bytes]; }

  private:
    std::vector<entry> pages_;
};

inline constinit pool<store_record, &store_record::older> stores;
inline constinit pool<reader_record, &reader_record::next> readers;

inline store_record& store_at(std::uint32_t index) { return stores.at(index); }
inline reader_record& reader_at(std::uint32_t index) { return readers.at(index); }
inline std::uint32_t new_store() { return stores.take(); }
inline std::uint32_t new_reader() { return readers.take(); }

/// The store and all older ones.
inline void free_stores(std::uint32_t first)
{
    while (first != 0) {
        const std::uint32_t next = store_at(first).older;
        stores.give_back(first);
        first = next;
    }
}

inline void free_readers(std::uint32_t first)
{
    while (first != 0) {
        const std::uint32_t next = reader_at(first).next;
        readers.give_back(first);
        first = next;
    }
}

/// Keeps the bytes of a cell apart from now on.
std::array<cell, 4>& split_cell(shadow_page& p, std::uint32_t index, const std::uint8_t* bytes);

/// Calls f(cell, bytes of memory, size) for each cell of a range in one page.
template <class F>
[[gnu::always_inline]] inline void for_cells(shadow_page& p, std::uint64_t offset, std::uint8_t* memory, unsigned n,
                                             F&& f)
{
    while (n > 0) {
        const auto index = static_cast<std::uint32_t>(offset % shadow_page::bytes / 4);
        const auto at = static_cast<unsigned>(offset % 4);
        const unsigned here = std::min(4 - at, n);
        const bool is_split = !p.split.empty() && p.split.count(index) != 0;
        if (here == 4 && !is_split) {
            f(p.cells[index], memory, 4u);
        } else {
            auto& parts = is_split ? p.split[index] : split_cell(p, index, memory - at);
            for (unsigned k = 0; k < here; ++k) { f(parts[at + k], memory + k, 1u); }
        }
        offset += here;
        memory += here;
        n -= here;
    }
}

}  // namespace emulator
