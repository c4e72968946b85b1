#include "clock.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace emulator {
namespace {

std::deque<block_record>& records()
{
    static auto* r = new std::deque<block_record>(1);
    return *r;
}

template <class Pairs>
void merge(Pairs& into, const Pairs& other)
{
    Pairs result;
    result.reserve(into.size() + other.size());
    auto a = into.begin();
    auto b = other.begin();
    while (a != into.end() && b != other.end()) {
        if (a->first < b->first) {
            result.push_back(*a++);
        } else if (b->first < a->first) {
            result.push_back(*b++);
        } else {
            result.push_back({a->first, std::max(a->second, b->second)});
            ++a;
            ++b;
        }
    }
    result.insert(result.end(), a, into.end());
    result.insert(result.end(), b, other.end());
    into = std::move(result);
}

template <class Pairs, class Key>
auto find(Pairs& pairs, Key k)
{
    return std::lower_bound(pairs.begin(), pairs.end(), k, [](const auto& p, Key key) { return p.first < key; });
}

}  // namespace

std::uint32_t new_block_record(const block_record& r)
{
    records().push_back(r);
    return static_cast<std::uint32_t>(records().size() - 1);
}

const block_record& record_of(std::uint32_t block) { return records()[block]; }

std::uint32_t clock_data::epoch_of(std::uint64_t k) const
{
    const auto at = find(parts_, k);
    return at != parts_.end() && at->first == k ? at->second : 0;
}

bool clock_data::knows_end_of(std::uint32_t block) const
{
    const block_record& r = records()[block];
    const auto at = find(finished_, r.timeline);
    return at != finished_.end() && at->first == r.timeline && at->second >= r.sequence;
}

bool clock_data::knows(const stamp& s) const
{
    if (s.block == 0 || knows_end_of(s.block)) { return true; }
    return epoch_of(part_key(s.block, 0)) >= s.epoch || epoch_of(warp_key(s.block, s.thread / 32u)) >= s.epoch ||
           epoch_of(thread_key(s.block, s.thread)) >= s.epoch;
}

void clock_data::add(std::uint64_t k, std::uint32_t epoch)
{
    const auto at = find(parts_, k);
    if (at != parts_.end() && at->first == k) {
        at->second = std::max(at->second, epoch);
    } else {
        parts_.insert(at, {k, epoch});
    }
}

// Knowing the block as a whole makes its parts superfluous.
void clock_data::add_block(std::uint32_t block, std::uint32_t epoch)
{
    const auto first = find(parts_, part_key(block, 0));
    const auto last = find(parts_, part_key(block + 1, 0));
    const auto kept = std::remove_if(first, last, [&](const auto& p) { return p.second <= epoch; });
    parts_.erase(kept, last);
    add(part_key(block, 0), epoch);
}

void clock_data::add_finished(std::uint32_t timeline, std::uint32_t sequence)
{
    const auto at = find(finished_, timeline);
    if (at != finished_.end() && at->first == timeline) {
        at->second = std::max(at->second, sequence);
    } else {
        finished_.insert(at, {timeline, sequence});
    }
}

void clock_data::join(const clock_data& other)
{
    merge(parts_, other.parts_);
    merge(finished_, other.finished_);
}

void clock_data::add(const std::vector<known_part>& parts)
{
    std::vector<known_part> sorted = parts;
    std::sort(sorted.begin(), sorted.end());
    merge(parts_, sorted);
}

// What is known of a whole block, or of a warp, makes what is known of its parts superfluous.
void clock_data::prune()
{
    std::uint32_t block = 0;
    bool over = false;
    std::uint32_t of_block = 0;
    std::array<std::uint32_t, 32> of_warp{};
    std::erase_if(parts_, [&](const known_part& p) {
        const auto b = static_cast<std::uint32_t>(p.first >> 12);
        const auto part = static_cast<unsigned>(p.first & 0xfff);
        if (b != block) {
            block = b;
            over = knows_end_of(b);
            of_block = 0;
            of_warp.fill(0);
        }
        if (over) { return true; }
        if (part == 0) {
            of_block = p.second;
            return false;
        }
        if (p.second <= of_block) { return true; }
        if (part <= 32) {
            of_warp[part - 1] = p.second;
            return false;
        }
        return p.second <= of_warp[(part - 64) / 32];
    });
}

clock_pointer joined(const clock_pointer& a, const clock_pointer& b)
{
    if (!a || a == b) { return b; }
    if (!b) { return a; }
    struct remembered {
        clock_pointer a, b, result;
    };
    static auto* cache = new std::array<remembered, 256>;
    const std::size_t hash =
        (reinterpret_cast<std::uint64_t>(a.get()) / 16 * 31 + reinterpret_cast<std::uint64_t>(b.get()) / 16) % 256;
    remembered& r = (*cache)[hash];
    if (r.a == a && r.b == b) { return r.result; }
    auto made = std::make_shared<clock_data>(*a);
    made->join(*b);
    made->prune();
    r = {a, b, *made == *a ? a : *made == *b ? b : clock_pointer(made)};
    return r.result;
}

bool knowledge::knows(const stamp& s) const
{
    if (s.block == 0) { return true; }
    for (const auto& [k, epoch] : since) {
        if (epoch >= s.epoch && (k == thread_key(s.block, s.thread) || k == warp_key(s.block, s.thread / 32u) ||
                                 k == part_key(s.block, 0))) {
            return true;
        }
    }
    return base && base->knows(s);
}

void knowledge::add(std::uint64_t key, std::uint32_t epoch)
{
    for (auto& [k, e] : since) {
        if (k == key) {
            e = std::max(e, epoch);
            return;
        }
    }
    since.push_back({key, epoch});
    if (since.size() > 48) {
        base = folded();
        since.clear();
    }
}

void knowledge::learn(const knowledge& other)
{
    base = joined(base, other.base);
    for (const auto& [k, epoch] : other.since) { add(k, epoch); }
}

clock_pointer knowledge::folded() const
{
    if (since.empty()) { return base; }
    auto made = std::make_shared<clock_data>(base ? *base : clock_data{});
    made->add(since);
    made->prune();
    return made;
}

}  // namespace emulator
