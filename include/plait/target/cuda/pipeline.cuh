// A pipeline of passes in chunks: products on the main stream, everything else beside it, with events between the streams
// and signals between the ranks, also from inside a product that is launched once; or messages where ranks cannot load from each
// other. Nothing returns to the host between chunks.
#pragma once

#include <plait/core/view.hpp>
#include <plait/run/chunks.hpp>
#include <plait/target/cuda/functions_of.cuh>
#include <plait/target/cuda/launch_choice.cuh>
#include <plait/target/cuda/signals.cuh>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace plait::cuda {

/// What is put on one of the two streams of an executable.
struct tape_entry {
    std::unique_ptr<launch> what;
    bool beside = false;  // on the second stream
    int pass = -1;        // whose work this is; -1: meetings, signals, orders
    int chunk = -1;       // of a pipeline
    bool moves = false;   // messages to and from other ranks

    [[nodiscard]] bool belongs_with(const tape_entry& o) const
    {
        return pass == o.pass && chunk == o.chunk && beside == o.beside && moves == o.moves;
    }
};
using launch_tape = std::vector<tape_entry>;

/// The signals of an executable: in an area that every rank has, a word for each pass and rank.
struct signal_area {
    std::uint32_t* const* areas = nullptr;  // by rank of the world, in device memory
    std::uint32_t* mine = nullptr;
    std::uint32_t* posted = nullptr;   // by pass
    std::uint32_t* awaited = nullptr;  // by pass that waits, by pass that is waited for

    // The same of chunks, each of which has words of its own, where a product is launched once for all of them.
    std::int64_t at_chunks = 0;               // in an area, where the words of chunks begin: by pass, chunk and rank
    std::uint32_t* posted_chunks = nullptr;   // by pass and chunk
    std::uint32_t* awaited_chunks = nullptr;  // by pass that waits, and chunk
};

/// Cuts a pipeline for a device: only where there is a product or ranks to overlap with, and into chunks that keep a device
/// busy. `wanted`: as many as that, if > 0.
inline plait::detail::chunking choose_device_chunks(const arguments& args, view<const pass_view> passes, int wanted)
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

/// What prepares the launches of single passes.
class pass_source {
  public:
    /// For the launch of so many passes from p on.
    virtual pass_build build_of(std::size_t p, std::size_t passes, launch_list& list) = 0;
    /// The messages of a chunk of pass p, where ranks exchange them: of what it reads, or its results.
    virtual void add_messages(std::size_t p, const plait::detail::chunking& cut, int chunk, bool results, const pass_build& b, launch_list& list) = 0;

  protected:
    ~pass_source() = default;
};

/// Puts the chunks of one pipeline on a tape. Ranks that are apart exchange messages; others signals.
class pipeline_builder {
  public:
    pipeline_builder(const arguments& args, std::size_t first, const plait::detail::chunking& c, const signal_area& area,
                     view<const pass_code> code, const launch_choice& choice, pass_source& source, launch_tape& tape)
        : args_(args),
          passes_(args.image().plan.passes),
          first_(first),
          last_(static_cast<std::size_t>(passes_[first].chunked_until)),
          cut_(c),
          area_(area),
          code_(code),
          choice_(choice),
          source_(source),
          tape_(tape)
    {
    }

    void build()
    {
        // One that may be joined is launched at once only if it is: else which pass waits for its chunks, and counts them, would
        // change with the extents.
        const bool at_once = !choice_.is_apart() && code_[first_].in_chunks != nullptr && (code_[first_].with_next == nullptr || choice_.joins_next(first_));
        at_once_ = at_once ? first_ + (choice_.joins_next(first_) ? 2 : 1) : first_;
        hand_over(false);  // the second stream comes after what is on the main one
        if (at_once_ != first_ && args_.is_in(passes_[first_].group)) { launch_at_once(); }
        for (int k = 0; k < cut_.count; ++k) {
            newest_[0] = newest_[1] = nullptr;
            has_product_ = false;
            for (std::size_t p = at_once_; p < last_;) {
                const joint_launch how = choice_.from(p, &cut_);
                if (choice_.is_apart()) { build_apart(p, how, k); }
                else if (args_.is_in(passes_[p].group)) { build_chunk(p, how, k); }
                p += how.passes;
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
        put(std::unique_ptr<launch>(new recording(e)), from_beside);
        put(std::unique_ptr<launch>(new waiting(e)), !from_beside);
    }

    /// The product that begins the pipeline, all chunks of it.
    void launch_at_once()
    {
        const pass_view& pass = passes_[first_];
        product_chunks all;
        for (int k = 0; k < cut_.count; ++k) {
            auto& ranges = all.ranges.emplace_back();
            plait::detail::for_each_range(args_, pass, cut_, k, args_.rank(), [&](const host::chunk& within) { ranges.push_back(within); });
        }
        bool by_others = false;
        for (std::size_t p = first_; p < at_once_; ++p) { by_others = by_others || is_awaited(p); }
        chunk_signals& s = all.signals;
        s.areas = area_.areas;
        s.at = word_of_chunk(0) + args_.world_rank();
        s.step = args_.world_size();
        s.posted = area_.posted_chunks + first_ * plait::detail::max_signalled_chunks;
        s.first_rank = by_others ? 0 : args_.world_rank();
        s.ranks = by_others ? args_.world_size() : 1;
        launch_list list;
        pass_build b = source_.build_of(first_, at_once_ - first_, list);
        b.chunks = &all;
        (at_once_ > first_ + 1 ? code_[first_].in_chunks_with_next : code_[first_].in_chunks)(b);
        for (auto& l : list) { tape_.push_back({std::move(l), false, static_cast<int>(first_), -1}); }
    }
    /// Where the words of all ranks for a chunk of the product that begins the pipeline are in an area.
    [[nodiscard]] std::int64_t word_of_chunk(int k) const
    {
        return area_.at_chunks + (static_cast<std::int64_t>(first_) * plait::detail::max_signalled_chunks + k) * args_.world_size();
    }

    void build_chunk(std::size_t p, const joint_launch& how, int k)
    {
        const bool beside = is_beside(passes_[p]);
        const std::size_t end = p + how.passes;
        launch_list list;
        pass_build b = source_.build_of(p, how.passes, list);
        for (std::size_t q = p; q < end; ++q) {
            if (at_once_ != first_) { await_product(q, k, b); }
            for (std::size_t j = at_once_; j < p; ++j) { await(q, j, beside, b); }
        }
        follow(beside);
        run_chunk(p, how, k, beside, b);
        for (std::size_t done = p; done < end; ++done) {
            if (!is_awaited(done)) { continue; }
            const auto at = static_cast<std::int64_t>(done) * args_.world_size() + args_.world_rank();
            const auto n = static_cast<int>(passes_.size());
            put(make_signal(b.stage, &post_kernel<>,
                            post_arguments{area_.areas, area_.posted + done, at, args_.world_size(), awaited_by(done + 1, done), static_cast<int>(end - done) - 1, n}),
                beside);
        }
        finish(beside);
    }
    /// The same of ranks that exchange messages: all do, those of other groups as well. They go on the second stream; products,
    /// which need none, on the main one.
    void build_apart(std::size_t p, const joint_launch& how, int k)
    {
        const bool beside = is_beside(passes_[p]);
        launch_list list;
        pass_build b = source_.build_of(p, how.passes, list);
        const auto exchange = [&](bool results) {
            for (std::size_t q = p; q < p + how.passes; ++q) {
                launch_list all;
                source_.add_messages(q, cut_, k, results, b, all);
                for (auto& l : all) { tape_.push_back({std::move(l), true, static_cast<int>(q), k, true}); }
            }
        };
        follow(beside);
        exchange(false);
        if (args_.is_in(passes_[p].group)) { run_chunk(p, how, k, beside, b); }
        exchange(true);
        finish(beside);
    }
    void run_chunk(std::size_t p, const joint_launch& how, int k, bool beside, pass_build& b)
    {
        plait::detail::for_each_range(args_, passes_[p], cut_, k, args_.rank(), [&](const host::chunk& within) {
            b.within = within;
            how.build(b);
        });
        for (auto& l : b.list) { tape_.push_back({std::move(l), beside, static_cast<int>(p), k}); }
    }
    /// What comes now on one stream comes after what this chunk has had on the other.
    void follow(bool beside)
    {
        if (const auto& e = newest_[beside ? 0 : 1]) { put(std::unique_ptr<launch>(new waiting(e)), beside); }
    }
    void finish(bool beside)
    {
        newest_[beside ? 1 : 0] = std::make_shared<stream_event>();
        put(std::unique_ptr<launch>(new recording(newest_[beside ? 1 : 0])), beside);
    }
    /// Which ranks' part of pass j pass p waits for.
    [[nodiscard]] await_arguments ranks_of(plait::detail::signal_scope scope, std::size_t j, const pass_build& b) const
    {
        const int g = passes_[j].group;
        const bool whole = scope == plait::detail::signal_scope::group;
        await_arguments a;
        a.limits = b.reports;
        a.first_rank = (g == any_group ? args_.group() : g) * args_.ranks() + (whole ? 0 : args_.rank());
        a.ranks = whole ? args_.ranks() : 1;
        return a;
    }
    /// Waits for what other ranks' pass j has made of this chunk; on the second stream, so that products go on.
    void await(std::size_t p, std::size_t j, bool beside, const pass_build& b)
    {
        const auto scope = plait::detail::depends_on(passes_[p], passes_[j]);
        if (scope == plait::detail::signal_scope::none) { return; }
        await_arguments a = ranks_of(scope, j, b);
        a.words = area_.mine + static_cast<std::ptrdiff_t>(j) * args_.world_size() + a.first_rank;
        a.count = awaited_by(p, j);
        put(make_signal(b.stage, &await_kernel<>, a), true);
        if (!beside) { hand_over(true); }
    }
    /// Waits, on the second stream, until the product that is launched once has finished a chunk: on the ranks on which pass p
    /// depends, and on this one before anything comes after it.
    void await_product(std::size_t p, int k, const pass_build& b)
    {
        using plait::detail::signal_scope;
        signal_scope scope = signal_scope::none;
        for (std::size_t j = first_; j < at_once_; ++j) {
            const signal_scope one = plait::detail::depends_on(passes_[p], passes_[j]);
            scope = scope == signal_scope::group || one == signal_scope::none ? scope : one;
        }
        const bool is_mine = args_.is_in(passes_[first_].group);
        if (scope == signal_scope::none && (has_product_ || !is_mine)) { return; }
        has_product_ = has_product_ || is_mine;
        await_arguments a = ranks_of(scope, first_, b);
        a.words = area_.mine + word_of_chunk(k) + a.first_rank;
        a.count = area_.awaited_chunks + p * plait::detail::max_signalled_chunks + k;
        put(make_signal(b.stage, &await_kernel<>, a), true);
    }
    /// How often pass p has waited for pass j.
    [[nodiscard]] std::uint32_t* awaited_by(std::size_t p, std::size_t j) const { return area_.awaited + p * passes_.size() + j; }
    [[nodiscard]] bool is_awaited(std::size_t p) const
    {
        for (std::size_t i = p + 1; i < last_; ++i) {
            if (plait::detail::depends_on(passes_[i], passes_[p]) != plait::detail::signal_scope::none) { return true; }
        }
        return false;
    }

    const arguments& args_;
    view<const pass_view> passes_;
    std::size_t first_;
    std::size_t last_;
    plait::detail::chunking cut_;
    signal_area area_;
    view<const pass_code> code_;
    const launch_choice& choice_;
    pass_source& source_;
    launch_tape& tape_;
    std::size_t at_once_ = 0;   // passes [first_, at_once_) are one launch for all chunks
    bool has_product_ = false;  // the second stream has waited for this chunk of that launch, on this rank
    std::shared_ptr<stream_event> newest_[2];  // of this chunk, on the main stream and beside it
};

}  // namespace plait::cuda
