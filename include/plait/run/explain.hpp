// explain: what an executable does, stage by stage: bytes, launches, predicted and measured time.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/size_of_run.hpp>
#include <plait/run/executable.hpp>
#include <plait/run/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace plait {

namespace detail {

/// The limit of a stage: what it cannot be faster than on the machine.
inline double limit_of(const stage_cost& c, const machine& m, int ranks)
{
    const stage_time t = time_of(c, m, ranks);
    return std::max(t.work, t.wire);
}

inline std::string extents_text(const arguments& args)
{
    std::string text;
    for (std::size_t i = 0; i < args.extents().size(); ++i) {
        if (args.extents()[i] < 0) { continue; }
        text += (text.empty() ? "" : ", ") + std::string(args.image().text(static_cast<int>(i))) + " = " + std::to_string(args.extents()[i]);
        if (!args.counts()[i].empty()) { text += " in " + std::to_string(args.counts()[i].size()) + " tensors"; }
    }
    return text;
}

inline std::string where_of(const program_image& image, const pass_view& pass)
{
    std::string s = pass.kind == pass_kind::all_reduce ? "handed around" : pass.slice_dim >= 0 ? "slice" : "whole";
    if (image.groups > 1 && pass.group != any_group) { s += ", group " + std::to_string(pass.group); }
    return s;
}

}  // namespace detail

/// What an executable does in a run with the extents of its last one, on this rank. `m`: the machine that times and limits
/// are for. `measured`: seconds by pass, as a trace gives them.
template <class Communicator>
explanation explain(const executable<Communicator>& run, const machine& m = machine{}, view<const double> measured = {})
{
    const arguments& args = run.arguments();
    const program_image& image = run.image();
    explanation e;
    e.program = image.name;
    e.ranks = args.world_size();
    e.rank = args.world_rank();
    e.sizes = detail::extents_text(args);
    e.chosen = text_of(args.parameters());
    e.workspace = run.workspace_bytes();
    const view<const pass_view> passes = image.plan.passes;
    const run_sizes sizes(image, args);
    const bool sized = !e.sizes.empty();
    const auto chunks_of = [&](std::size_t p) { return sized ? run.chunks_of(p) : 1; };
    e.stages.resize(passes.size());
    int pipelines = 0;
    for (std::size_t p = 0; p < passes.size(); ++p) {
        explained_stage& s = e.stages[p];
        s.name = stage_name(image, p);
        s.where = detail::where_of(image, passes[p]);
        s.kind = kind_of_stage(passes[p]);
        if (passes[p].chunked_until == 0) { continue; }
        ++pipelines;
        for (std::size_t q = p; q < static_cast<std::size_t>(passes[p].chunked_until); ++q) {
            e.stages[q].pipeline = pipelines;
            e.stages[q].chunks = e.stages[q].launches = chunks_of(p);
        }
    }
    if (!sized) { return e; }
    predicted_time(image, sizes.view(), m, chunks_of, [&](std::size_t p, const stage_cost& c, double seconds) {
        e.stages[p].cost = c;
        e.stages[p].predicted = seconds;
        e.stages[p].limit = detail::limit_of(c, m, args.ranks());
        if (p < measured.size()) { e.stages[p].measured = measured[p]; }
    });
    for (int s = 0; s < image.n_slots(); ++s) {
        if (!run.is_staged(s)) { continue; }
        const node& n = image.slot_node(s);
        const auto elements = static_cast<double>(args.stored_elements_of(n));
        e.copies.push_back({std::string(image.text(n.name)), elements * static_cast<double>(size_of(n.type))});
    }
    return e;
}

}  // namespace plait
