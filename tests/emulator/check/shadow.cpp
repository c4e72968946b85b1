#include "shadow.hpp"

namespace emulator {
namespace {

void release(const cell& c)
{
    free_stores(c.last);
    free_readers(c.readers);
}

void release(const shadow_page& p)
{
    for (const cell& c : p.cells) { release(c); }
    for (const auto& [index, parts] : p.split) {
        for (const cell& c : parts) { release(c); }
    }
}

std::uint32_t copy_of_readers(std::uint32_t first)
{
    if (first == 0) { return 0; }
    const std::uint32_t rest = copy_of_readers(reader_at(first).next);
    const std::uint32_t made = new_reader();
    reader_at(made) = reader_at(first);
    reader_at(made).next = rest;
    return made;
}

}  // namespace

shadow_memory::~shadow_memory()
{
    for (const entry& e : pages_) {
        if (e.cells) { release(*e.cells); }
    }
}

void shadow_memory::entry::clear()
{
    if (cells) { release(*cells); }
    cells.reset();
}

// Of older stores only the last is kept: the others' values were of four bytes.
std::array<cell, 4>& split_cell(shadow_page& p, std::uint32_t index, const std::uint8_t* bytes)
{
    auto& parts = p.split[index];
    cell& whole = p.cells[index];
    for (unsigned k = 0; k < 4; ++k) {
        if (whole.last != 0) {
            parts[k].last = new_store();
            store_record& r = store_at(parts[k].last);
            r = store_at(whole.last);
            r.older = 0;
            r.value = bytes[k];
        }
        parts[k].readers = copy_of_readers(whole.readers);
    }
    release(whole);
    whole = {};
    return parts;
}

}  // namespace emulator
