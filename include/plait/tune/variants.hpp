// A schedule with what it leaves open, as a tuner tries it.
#pragma once

#include <plait/plan/cost.hpp>
#include <plait/plan/parameters.hpp>
#include <plait/plan/size_of_run.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace plait::detail {

struct variant {
    std::size_t candidate = 0;
    parameters chosen{};
    double seconds = 0;  // predicted, then measured
    bool operator==(const variant&) const = default;
};

/// The model's time for a schedule at the sizes of a run.
inline double predicted(const program_image& image, const arguments& sizes_of, const machine& m)
{
    const run_sizes sizes(image, sizes_of);
    return predicted_time(image, sizes.view(), m);
}

/// Adds the variants of `v` that differ from it in one parameter which matters to its plan.
inline void add_variants(std::vector<variant>& to, const variant& v, const program_image& image, const arguments& args, bool on_host)
{
    bool pipelines = false;
    bool all_reduces = false;
    bool hands_out = false;
    for (const pass_view& p : image.plan.passes) {
        pipelines = pipelines || p.chunked_until != 0;
        all_reduces = all_reduces || p.kind == pass_kind::all_reduce;
        for (const pass_result& r : p.results) { hands_out = hands_out || r.to == destination::all_ranks; }
    }
    const auto add = [&](auto&& set) {
        variant other = v;
        set(other.chosen);
        to.push_back(other);
    };
    if (pipelines) {
        for (const int chunks : {1, 2, 4, 8, 16, 32}) { add([&](parameters& p) { p.chunks = chunks; }); }
    }
    if (all_reduces && args.ranks() > 1) {
        for (const auto a : {all_reduce_algorithm::one_shot, all_reduce_algorithm::two_shot}) {
            add([&](parameters& p) { p.all_reduce = a; });
        }
    }
    if (hands_out && on_host && args.ranks() > 1) {
        for (const auto s : {peer_stores::cached, peer_stores::streaming}) { add([&](parameters& p) { p.stores = s; }); }
    }
}

}  // namespace plait::detail
