#include "ranges.hpp"

#include "../schedule/settings.hpp"
#include "race.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace emulator {
namespace {

/// An operation's own accesses are in order: it may write what it has read.
bool comes_after(const operation& o, const stamp& s) { return s.block == o.record || o.begin_clock->knows(s); }

void report_range(const operation& o, const allocation& a, const stamp& other, bool store, bool other_is_store,
                  const instruction* where)
{
    make_report(rule::race, o.what + (store ? " to " : " from ") + a.name + " is not ordered after " +
                                (other_is_store ? "a store" : "a load") + " there by\n       " +
                                describe_access(other, where));
}

/// The first access to the cell that the operation does not come after; reports it.
bool check_cell(const operation& o, const allocation& a, cell& at, bool store)
{
    if (at.block != 0 && !comes_after(o, at.by())) {
        report_range(o, a, at.by(), store, true, at.where);
        return false;
    }
    return !store || !any_reader(at, [&](const reader_record& reader) {
        const stamp by{
            reader.block, reader.epoch,
            static_cast<std::uint16_t>(reader.warp * n_lanes + static_cast<unsigned>(std::countr_zero(reader.lanes)))};
        if (comes_after(o, by)) { return false; }
        report_range(o, a, by, store, false, reader.where);
        return true;
    });
}

bool check_page(const operation& o, const allocation& a, const shadow_memory::entry& e, std::uint64_t begin,
                std::uint64_t end, bool store)
{
    if (const std::uint32_t writer = e.writer; writer != 0 && !comes_after(o, {writer, 1, 0})) {
        report_range(o, a, {writer, 1, 0}, store, true, nullptr);
        return false;
    }
    for (const shadow_memory::copy_reader& reader : e.readers) {
        if (store && reader.meets(begin, end) && !comes_after(o, {reader.record, 1, 0})) {
            report_range(o, a, {reader.record, 1, 0}, store, false, nullptr);
            return false;
        }
    }
    shadow_page* p = e.cells.get();
    if (p == nullptr) { return true; }
    for (std::uint64_t at = begin / 4 * 4; at < end; at += 4) {
        const auto index = static_cast<std::uint32_t>(at % shadow_page::bytes / 4);
        if (!check_cell(o, a, p->cells[index], store)) { return false; }
        const auto parts = p->split.find(index);
        if (parts == p->split.end()) { continue; }
        for (unsigned k = 0; k < 4; ++k) {
            if (at + k >= begin && at + k < end && !check_cell(o, a, parts->second[k], store)) { return false; }
        }
    }
    return true;
}

}  // namespace

void order_range(operation& o, allocation& a, std::uint64_t offset, std::uint64_t size, bool store)
{
    if (!settings().check_races) { return; }
    if (!a.shadow) { a.shadow = std::make_unique<shadow_memory>(a.size); }
    shadow_memory& s = *a.shadow;
    bool clean = true;
    for (std::uint64_t page = offset / shadow_page::bytes * shadow_page::bytes; page < offset + size;
         page += shadow_page::bytes) {
        const std::uint64_t begin = std::max(page, offset);
        const std::uint64_t end = std::min(page + shadow_page::bytes, offset + size);
        shadow_memory::entry& e = s.entry_of(page);
        clean = clean && check_page(o, a, e, begin, end, store);
        if (!store) {
            // Whoever knows this copy knows those before it, but they may have read other parts.
            std::erase_if(e.readers, [&](const auto& r) { return r.begin >= begin && r.end <= end && comes_after(o, {r.record, 1, 0}); });
            e.readers.push_back({o.record, begin, end});
            continue;
        }
        const bool all = begin == page && end == std::min(page + shadow_page::bytes, a.size);
        if (all) {
            e.clear();
            e.writer = o.record;
            e.readers.clear();
            continue;
        }
        for (std::uint64_t at = begin; at < end;) {
            const auto n = static_cast<unsigned>(std::min<std::uint64_t>(4 - at % 4, end - at));
            for_cells(e.page(), at, reinterpret_cast<std::uint8_t*>(a.begin + at), n,
                      [&](cell& c, std::uint8_t*, unsigned) {
                          clear(c);
                          c.block = o.record;
                          c.epoch = 1;
                      });
            at += n;
        }
    }
}

}  // namespace emulator
