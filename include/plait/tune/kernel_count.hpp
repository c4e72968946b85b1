// How many kernels a set of schedules needs.
#pragma once

#include <plait/plan/kernel_of.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/tune/explore.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

/// Passes of all schedules, and the distinct kernels that they run: what the compiler instantiates.
struct kernel_count {
    int passes = 0;
    int kernels = 0;
};

namespace detail {

/// One object per type: its address tells types apart.
template <class T>
inline constexpr char tag_of{};

template <class Lowered, int P>
void add_kernel(std::vector<const char*>& tags)
{
    constexpr pass_plan p = Lowered::plan.passes[P];
    if constexpr (is_contraction(p.kind)) {  // plait's own, one per dtype
        constexpr int kind = static_cast<int>(p.kind);
        constexpr int type = static_cast<int>(Lowered::graph[p.space].type);
        tags.push_back(&tag_of<std::integer_sequence<int, kind, type>>);
    } else {
        tags.push_back(&tag_of<kernel_of<Lowered, P>>);
    }
}

}  // namespace detail

/// Counts the kernels of schedules; those that several schedules share count, and are instantiated, once.
template <class Explored, class... Programs>
kernel_count count_kernels(schedules<Explored, Programs...> all)
{
    std::vector<const char*> tags;
    all.for_each([&](auto program, std::string_view) {
        using low = lowered<decltype(program)>;
        [&]<int... P>(std::integer_sequence<int, P...>) { (detail::add_kernel<low, P>(tags), ...); }
        (std::make_integer_sequence<int, low::plan.n_passes>{});
    });
    kernel_count count{static_cast<int>(tags.size()), 0};
    std::ranges::sort(tags);
    count.kernels = static_cast<int>(std::ranges::unique(tags).begin() - tags.begin());
    return count;
}

}  // namespace plait
