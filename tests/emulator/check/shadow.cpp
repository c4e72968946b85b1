#include "shadow.hpp"

namespace emulator {
namespace {

void release(shadow_page& p)
{
    for (cell& c : p.cells) { clear(c); }
    for (auto& [index, parts] : p.split) {
        for (cell& c : parts) { clear(c); }
    }
}

}  // namespace

shadow_memory::~shadow_memory()
{
    for (entry& e : pages_) {
        if (e.cells) { release(*e.cells); }
    }
}

void shadow_memory::entry::clear()
{
    if (cells) { release(*cells); }
    cells.reset();
}

// Of stores only the last is kept: the others' values were of four bytes.
std::array<cell, 4>& split_cell(shadow_page& p, std::uint32_t index)
{
    auto& parts = p.split[index];
    cell& whole = p.cells[index];
    for (cell& part : parts) {
        part = whole;
        part.older = 0;
        if (whole.message != 0) {
            const message& m = messages.at(whole.message);
            part.message = new_message(m.clock, m.scope);
        }
        if (whole.more != 0) {
            part.more = readers.take();
            readers.at(part.more) = readers.at(whole.more);
        }
    }
    clear(whole);
    return parts;
}

}  // namespace emulator
