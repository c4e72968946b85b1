#include "shadow.hpp"

namespace emulator {
namespace {

template <class Record>
class pool {
  public:
    pool() : records_(1) {}
    Record& at(std::uint32_t index) { return records_[index]; }
    std::uint32_t take()
    {
        if (free_.empty()) {
            records_.emplace_back();
            return static_cast<std::uint32_t>(records_.size() - 1);
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        return index;
    }
    void give_back(std::uint32_t index)
    {
        records_[index] = Record{};
        free_.push_back(index);
    }

  private:
    std::vector<Record> records_;
    std::vector<std::uint32_t> free_;
};

pool<store_record>& stores()
{
    static auto* p = new pool<store_record>;
    return *p;
}

pool<reader_record>& readers()
{
    static auto* p = new pool<reader_record>;
    return *p;
}

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

store_record& store_at(std::uint32_t index) { return stores().at(index); }
reader_record& reader_at(std::uint32_t index) { return readers().at(index); }
std::uint32_t new_store() { return stores().take(); }
std::uint32_t new_reader() { return readers().take(); }

void free_stores(std::uint32_t first)
{
    while (first != 0) {
        const std::uint32_t next = store_at(first).older;
        stores().give_back(first);
        first = next;
    }
}

void free_readers(std::uint32_t first)
{
    while (first != 0) {
        const std::uint32_t next = reader_at(first).next;
        readers().give_back(first);
        first = next;
    }
}

shadow_memory::~shadow_memory()
{
    for (const entry& e : pages_) {
        if (e.cells) { release(*e.cells); }
    }
}

void shadow_memory::clear_page(std::uint64_t offset)
{
    entry& e = pages_[offset / shadow_page::bytes];
    if (e.cells) { release(*e.cells); }
    e.cells.reset();
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
