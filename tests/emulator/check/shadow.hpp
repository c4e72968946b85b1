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

/// What a store hands on to loads that acquire it.
struct message {
    std::shared_ptr<const knowledge> clock;
    std::uint8_t scope = 0;
};

struct store_record {
    std::uint32_t block = 0;  ///< 0: what was there before kernels stored
    std::uint32_t epoch = 0;
    std::uint16_t thread = 0;
    strength how;
    std::uint32_t older = 0;     ///< the store before it, an older_store; 0: none
    std::uint64_t sequence = 0;  ///< the same for all cells of one store
    const instruction* where = nullptr;
    std::uint32_t message = 0;

    stamp by() const { return {block, epoch, thread}; }
};

struct older_store : store_record {
    std::uint32_t value = 0;  ///< of the cell after it
};

struct reader_record {
    const instruction* where = nullptr;
    std::uint32_t block = 0;  ///< 0: none
    std::uint32_t epoch = 0;
    std::uint32_t lanes = 0;
    std::uint8_t warp = 0;
    strength how;
};

inline constexpr unsigned kept_readers = 8;  ///< of a cell; beyond, they replace each other in turn

/// All but the first. Few have more than fit in one line of the processor's cache.
struct alignas(64) more_readers {
    std::uint8_t count = 0;
    std::uint8_t turn = 0;  ///< counts those that were forgotten
    std::array<reader_record, kept_readers - 1> all;
};

/// Four bytes, or one of them: the newest store, and who has read since. In one line of the processor's cache, as most
/// accesses need no more.
struct cell : store_record {
    std::uint32_t more = 0;  ///< more_readers; 0: none
    reader_record reader;
};
static_assert(sizeof(cell) == 64);

struct shadow_page {
    static constexpr std::uint64_t bytes = 4096;
    alignas(sizeof(cell)) std::array<cell, bytes / 4> cells;
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

inline constinit pool<older_store> older_stores;
inline constinit pool<more_readers> readers;
inline constinit pool<message> messages;

inline older_store& older_at(std::uint32_t index) { return older_stores.at(index); }

inline std::uint32_t new_message(const std::shared_ptr<const knowledge>& clock, std::uint8_t scope)
{
    if (!clock) { return 0; }
    const std::uint32_t index = messages.take();
    messages.at(index).clock = clock;
    messages.at(index).scope = scope;
    return index;
}

inline void free_message(const store_record& s)
{
    if (s.message == 0) { return; }
    messages.at(s.message).clock.reset();
    messages.give_back(s.message);
}

/// The store and all older ones.
inline void free_stores(std::uint32_t first)
{
    while (first != 0) {
        const std::uint32_t next = older_at(first).older;
        free_message(older_at(first));
        older_stores.give_back(first);
        first = next;
    }
}

inline void free_readers(cell& c)
{
    c.reader.block = 0;
    if (c.more == 0) { return; }
    readers.at(c.more).count = readers.at(c.more).turn = 0;
    readers.give_back(c.more);
    c.more = 0;
}

/// Forgets all accesses to a cell.
inline void clear(cell& c)
{
    free_message(c);
    free_stores(c.older);
    free_readers(c);
    c = {};
}

/// Calls f(reader) for each until it returns true; whether it did.
template <class F>
[[gnu::always_inline]] inline bool any_reader(cell& c, F&& f)
{
    if (c.reader.block == 0) { return false; }
    if (f(c.reader)) { return true; }
    if (c.more == 0) { return false; }
    more_readers& more = readers.at(c.more);
    for (unsigned k = 0; k < more.count; ++k) {
        if (f(more.all[k])) { return true; }
    }
    return false;
}

/// Keeps the bytes of a cell apart from now on.
std::array<cell, 4>& split_cell(shadow_page& p, std::uint32_t index);

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
            auto& parts = is_split ? p.split[index] : split_cell(p, index);
            for (unsigned k = 0; k < here; ++k) { f(parts[at + k], memory + k, 1u); }
        }
        offset += here;
        memory += here;
        n -= here;
    }
}

}  // namespace emulator
