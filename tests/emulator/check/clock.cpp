#include "clock.hpp"

#include <algorithm>
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
    return epoch_of(key(s.block, 0)) >= s.epoch || epoch_of(key(s.block, 1 + s.thread / 32u)) >= s.epoch ||
           epoch_of(key(s.block, 64u + s.thread)) >= s.epoch;
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
    const auto first = find(parts_, key(block, 0));
    const auto last = find(parts_, key(block + 1, 0));
    const auto kept = std::remove_if(first, last, [&](const auto& p) { return p.second <= epoch; });
    parts_.erase(kept, last);
    add(key(block, 0), epoch);
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

void clock_data::prune()
{
    std::erase_if(parts_, [&](const auto& p) { return knows_end_of(static_cast<std::uint32_t>(p.first >> 12)); });
}

clock_pointer joined(const clock_pointer& a, const clock_pointer& b)
{
    if (!a || a == b) { return b; }
    if (!b) { return a; }
    auto made = std::make_shared<clock_data>(*a);
    made->join(*b);
    return made;
}

}  // namespace emulator
