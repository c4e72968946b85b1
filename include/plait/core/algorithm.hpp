// Loops over whole ranges that have a name. Those of <algorithm> in std::ranges do the same, but each call of one is dozens of
// classes to a compiler, which every source that includes plait would pay for.
#pragma once

#include <cstddef>
#include <iterator>

namespace plait::detail {

/// The first element for which `is` holds, or the end.
template <class Range, class Is>
constexpr auto find_if(Range&& all, Is&& is)
{
    auto at = std::begin(all);
    const auto end = std::end(all);
    while (at != end && !is(*at)) { ++at; }
    return at;
}
/// The first element that equals `wanted`, or the end.
template <class Range, class T>
constexpr auto find(Range&& all, const T& wanted)
{
    auto at = std::begin(all);
    const auto end = std::end(all);
    while (at != end && !(*at == wanted)) { ++at; }
    return at;
}
template <class Range, class T>
constexpr bool contains(const Range& all, const T& wanted)
{
    for (const auto& x : all) {
        if (x == wanted) { return true; }
    }
    return false;
}
template <class Range, class Is>
constexpr bool any_of(const Range& all, Is&& is)
{
    for (const auto& x : all) {
        if (is(x)) { return true; }
    }
    return false;
}
template <class Range, class T>
constexpr std::ptrdiff_t count(const Range& all, const T& wanted)
{
    std::ptrdiff_t n = 0;
    for (const auto& x : all) {
        if (x == wanted) { ++n; }
    }
    return n;
}
template <class Range, class T>
constexpr void fill(Range&& all, const T& value)
{
    for (auto& x : all) { x = value; }
}

}  // namespace plait::detail
