// A pipeline of passes in chunks: products on the main stream, everything else beside it, with events between the streams
// and signals between the ranks. Nothing returns to the host between chunks.
#pragma once

#include <plait/run/chunks.hpp>
#include <plait/target/cuda/functions_of.cuh>
#include <plait/target/cuda/signals.cuh>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace plait::cuda {

/// What is put on one of the two streams of an executable.
struct tape_entry {
    std::unique_ptr<launch> what;
    bool beside = false;  // on the second stream
    int pass = -1;        // whose work this is; -1: meetings, signals, orders
    int chunk = -1;       // of a pipeline

    [[nodiscard]] bool belongs_with(const tape_entry& o) const { return pass == o.pass && chunk == o.chunk && beside == o.beside; }
};
using launch_tape = std::vector<tape_entry>;

/// The signals of an executable: in an area that every rank has, a word for each pass and rank.
struct signal_area {
    std::uint32_t* const* areas = nullptr;  // by rank of the world, in device memory
    std::uint32_t* mine = nullptr;
    std::uint32_t* posted = nullptr;   // by pass
    std::uint32_t* awaited = nullptr;  // by pass that waits, by pass that is waited for
};

/// Cuts a pipeline for a device: only where there is a product or ranks to overlap with, and into chunks that keep a device
/// busy. `wanted`: as many as that, if > 0.
inline plait::detail::chunking choose_device_chunks(const arguments& args, std::span<const pass_view> passes, int wanted)
{
    constexpr std::int64_t bytes_of_a_chunk = std::int64_t{1} << 22;
    constexpr std::int64_t most = 8;
    bool overlaps = false;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const node& n = args.image().node_of(passes[i].space);
        bytes = std::max(bytes, args.elements_of(n) * static_cast<std::int64_t>(size_of(n.type)));
        overlaps = overlaps || is_contraction(passes[i].kind);
        for (std::size_t j = 0; j < i; ++j) {
            overlaps = overlaps || plait::detail::depends_on(passes[i], passes[j]) != plait::detail::signal_scope::none;
        }
    }
    const auto count = static_cast<int>(std::clamp<std::int64_t>(bytes / bytes_of_a_chunk, 1, most));
    return plait::detail::choose_chunks(args, passes, true, !overlaps ? 1 : wanted > 0 ? wanted : count);
}

/// Puts the chunks of one pipeline on a tape.
class pipeline_builder {
  public:
    using make_build = std::function<pass_build(std::size_t pass, launch_list& list)>;

    pipeline_builder(const arguments& args, std::size_t first, const plait::detail::chunking& c, const signal_area& area,
                     std::span<const pass_function> code, launch_tape& tape)
        : args_(args),
          passes_(args.image().plan.passes),
          first_(first),
          last_(static_cast<std::size_t>(passes_[first].chunked_until)),
          cut_(c),
          area_(area),
          code_(code),
          tape_(tape)
    {
    }

    void build(const make_build& make)
    {
        hand_over(false);  // the second stream comes after what is on the main one
        for (int k = 0; k < cut_.count; ++k) {
            newest_[0] = newest_[1] = nullptr;
            for (std::size_t p = first_; p < last_; ++p) {
                if (args_.is_in(passes_[p].group)) { build_chunk(p, k, make); }
            }
        }
        hand_over(true);
    }

  private:
    static bool is_beside(const pass_view& p) { return !is_contraction(p.kind); }
    void put(std::unique_ptr<launch> l, bool beside) { tape_.push_back({std::move(l), beside, -1, -1}); }
    void hand_over(bool from_beside)
    {
        const auto e = std::make_shared<stream_event>();
        put(std::make_unique<recording>(e), from_beside);
        put(std::make_unique<waiting>(e), !from_beside);
    }

    void build_chunk(std::size_t p, int k, const make_build& make)
    {
        const pass_view& pass = passes_[p];
        const bool beside = is_beside(pass);
        launch_list list;
        pass_build b = make(p, list);
        for (std::size_t j = first_; j < p; ++j) { await(p, j, beside, b); }
        if (const auto& e = newest_[beside ? 0 : 1]) { put(std::make_unique<waiting>(e), beside); }
        plait::detail::for_each_range(args_, pass, cut_, k, args_.rank(), [&](const host::chunk& within) {
            b.within = within;
            code_[p](b);
        });
        for (auto& l : list) { tape_.push_back({std::move(l), beside, static_cast<int>(p), k}); }
        if (is_awaited(p)) {
            const auto at = static_cast<std::int64_t>(p) * args_.world_size() + args_.world_rank();
            put(make_signal(b.stage, &post_kernel<>, post_arguments{area_.areas, area_.posted + p, at, args_.world_size()}), beside);
        }
        newest_[beside ? 1 : 0] = std::make_shared<stream_event>();
        put(std::make_unique<recording>(newest_[beside ? 1 : 0]), beside);
    }
    /// Waits for what other ranks' pass j has made of this chunk; on the second stream, so that products go on.
    void await(std::size_t p, std::size_t j, bool beside, const pass_build& b)
    {
        using plait::detail::signal_scope;
        const signal_scope scope = plait::detail::depends_on(passes_[p], passes_[j]);
        if (scope == signal_scope::none) { return; }
        const int g = passes_[j].group;
        const bool whole = scope == signal_scope::group;
        await_arguments a;
        a.limits = b.reports;
        a.first_rank = (g == any_group ? args_.group() : g) * args_.ranks() + (whole ? 0 : args_.rank());
        a.ranks = whole ? args_.ranks() : 1;
        a.words = area_.mine + static_cast<std::ptrdiff_t>(j) * args_.world_size() + a.first_rank;
        a.count = area_.awaited + p * passes_.size() + j;
        put(make_signal(b.stage, &await_kernel<>, a), true);
        if (!beside) { hand_over(true); }
    }
    [[nodiscard]] bool is_awaited(std::size_t p) const
    {
        for (std::size_t i = p + 1; i < last_; ++i) {
            if (plait::detail::depends_on(passes_[i], passes_[p]) != plait::detail::signal_scope::none) { return true; }
        }
        return false;
    }

    const arguments& args_;
    std::span<const pass_view> passes_;
    std::size_t first_;
    std::size_t last_;
    plait::detail::chunking cut_;
    signal_area area_;
    std::span<const pass_function> code_;
    launch_tape& tape_;
    std::shared_ptr<stream_event> newest_[2];  // of this chunk, on the main stream and beside it
};

}  // namespace plait::cuda
