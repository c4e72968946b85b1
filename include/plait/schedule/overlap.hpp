// overlap: producer and consumer stages run as a chunked pipeline (CoCoNeT's overlap).
#pragma once

#include <plait/schedule/pass.hpp>

#include <initializer_list>
#include <string_view>

namespace plait {
namespace detail {

/// @pre every label names operations of the program.
/// @post the stages that hold them run as one pipeline, together with the stages in between. Whether all of them work
/// on the same chunks is checked when the program is lowered.
template <class Graph>
constexpr scheduled<Graph> overlap_labelled(const Graph& old, std::initializer_list<std::string_view> labels)
{
    scheduled<Graph> result;
    Graph& g = result.g;
    g = old;
    int id = 0;
    for (int i = 0; i < g.size; ++i) { id = g[i].overlap > id ? g[i].overlap : id; }
    ++id;
    for (std::string_view label : labels) {
        bool found = false;
        for (int i = 0; i < g.size; ++i) {
            if (g[i].label < 0 || g.text(g[i].label) != label) { continue; }
            found = true;
            message m;
            if (g[i].overlap != 0 && g[i].overlap != id) {
                result.refuse(rule::overlap_target, m << g.type_of(i) << ": overlap, twice");
            }
            g[i].overlap = id;
        }
        message m;
        if (!found) {
            result.refuse(rule::unknown_label, m << "\"" << label << "\": overlap in program \"" << g.name.view() << "\"");
        }
    }
    return result;
}

}  // namespace detail

/// The transformation `overlap`.
template <fixed_string... Labels>
struct overlap_t : pass_base {
    static_assert(sizeof...(Labels) > 0, "plait: overlap needs the labels of the stages that overlap: overlap<\"mm\", \"sum\">");
    template <class Graph>
    static constexpr scheduled<Graph> apply(const Graph& g)
    {
        return detail::overlap_labelled(g, {Labels.view()...});
    }
};

/// Runs the stages with these labels as one pipeline of chunks: the consumer takes a chunk as soon as it is there, while
/// the producer makes the next one. For instance a matmul and the fused kernel of the collective after it, an all_gather
/// and the matmul that reads it, or a reduce_scatter, a send and an all_gather across groups. The number of chunks is
/// chosen from extents alone, so that it is the same on all ranks. Results do not change.
/// A label that the program does not have, and stages that one kernel does anyway or that cannot work chunk by chunk, are
/// compile errors (rules unknown_label, overlap_target, overlap_stage).
template <fixed_string... Labels>
inline constexpr overlap_t<Labels...> overlap{};

}  // namespace plait
