#include "tracker.hpp"

#include "readers.hpp"
#include "stores.hpp"

#include <cstring>

namespace emulator {
namespace {

shadow_memory& shadow_of(context& c, const place& p)
{
    if (p.space == space::shared) { return *c.b->shadow; }
    if (!p.memory->shadow) { p.memory->shadow = std::make_unique<shadow_memory>(p.memory->size); }
    return *p.memory->shadow;
}

std::uint32_t read_value(const std::uint8_t* bytes, unsigned n)
{
    std::uint32_t v = 0;
    std::memcpy(&v, bytes, n);
    return v;
}

void check_page(const access& a, const place& p, unsigned bytes, const shadow_memory::entry& e, bool is_store)
{
    const std::uint32_t writer = e.writer;
    if (writer != 0 && !knows(a, {writer, 1, 0})) {
        report_race(a.c, a.i, a.lane, p, is_store, {writer, 1, 0}, true, nullptr);
    }
    if (!is_store) { return; }
    for (const shadow_memory::copy_reader& reader : e.readers) {
        if (!reader.meets(p.offset, p.offset + bytes) || knows(a, {reader.record, 1, 0})) { continue; }
        report_race(a.c, a.i, a.lane, p, true, {reader.record, 1, 0}, false, nullptr);
    }
}

}  // namespace

void ordered_load(context& c, const instruction& i, unsigned lane, const place& p, unsigned size, unsigned elements,
                  std::uint8_t* out)
{
    const access a(c, i, lane);
    shadow_memory::entry& e = shadow_of(c, p).entry_of(p.offset);
    check_page(a, p, size * elements, e, false);
    // PTX promises it for each element only, but CUB and NCCL rely on a vector being loaded whole.
    std::uint64_t limit = ~0ull;
    for (unsigned k = 0; k < elements; ++k) {
        std::uint8_t* to = out + k * size;
        for_cells(e.page(), p.offset + k * size, p.bytes + k * size, size,
                  [&](cell& at, std::uint8_t* memory, unsigned n) {
                      check_store(a, p, at, false);
                      const choice chosen = choose_store(a, at, limit);
                      std::uint32_t value = read_value(memory, n);
                      if (chosen.older != nullptr) {
                          value = chosen.older->value;
                          limit = std::min(limit, chosen.next - 1);
                      } else if (limit == ~0ull && at.block != 0) {
                          limit = next_store_sequence;
                      }
                      std::memcpy(to, &value, n);
                      to += n;
                      add_reader(a, at);
                      learn(a, *chosen.store);
                  });
    }
}

void ordered_store(context& c, const instruction& i, unsigned lane, const place& p, unsigned size, unsigned elements,
                   const std::uint8_t* in)
{
    const access a(c, i, lane);
    shadow_memory::entry& e = shadow_of(c, p).entry_of(p.offset);
    check_page(a, p, size * elements, e, true);
    const message m = message_of(a);
    const std::uint64_t sequence = next_store_sequence++;
    for (unsigned k = 0; k < elements; ++k) {
        const std::uint8_t* from = in + k * size;
        for_cells(e.page(), p.offset + k * size, p.bytes + k * size, size,
                  [&](cell& at, std::uint8_t* memory, unsigned n) {
                      check_store(a, p, at, true);
                      check_readers(a, p, at);
                      put_store(a, p, at, read_value(memory, n), m, sequence);
                      std::memcpy(memory, from, n);
                      from += n;
                  });
    }
}

void before_atomic(context& c, const instruction& i, unsigned lane, const place& p, unsigned size)
{
    const access a(c, i, lane);
    shadow_memory::entry& e = shadow_of(c, p).entry_of(p.offset);
    check_page(a, p, size, e, true);
    for_cells(e.page(), p.offset, p.bytes, size, [&](cell& at, std::uint8_t*, unsigned) {
        check_store(a, p, at, true);
        check_readers(a, p, at);
        learn(a, at);
    });
}

// A read-modify-write hands on what the store that it read had handed on.
void after_atomic(context& c, const instruction& i, unsigned lane, const place& p, unsigned size,
                  const std::uint8_t* old, bool stored)
{
    const access a(c, i, lane);
    shadow_memory::entry& e = shadow_of(c, p).entry_of(p.offset);
    const std::uint64_t sequence = next_store_sequence++;
    const message own = stored ? message_of(a) : message{};
    for_cells(e.page(), p.offset, p.bytes, size, [&](cell& at, std::uint8_t*, unsigned n) {
        if (!stored) { return add_reader(a, at); }
        message m = own;
        if (at.message != 0) {
            const message& before = messages.at(at.message);
            m.scope = m.clock ? std::max(m.scope, before.scope) : before.scope;
            if (m.clock) {
                auto both = std::make_shared<knowledge>(*m.clock);
                both->learn(*before.clock);
                m.clock = both;
            } else {
                m.clock = before.clock;
            }
        }
        put_store(a, p, at, read_value(old, n), m, sequence);
        old += n;
    });
}

}  // namespace emulator
