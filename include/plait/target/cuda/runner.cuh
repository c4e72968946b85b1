// The CUDA target: the passes of a plan as kernels on the stream of a communicator.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/addresses.hpp>
#include <plait/run/any_executable.hpp>
#include <plait/target/cuda/launch_choice.cuh>
#include <plait/target/cuda/pass_meetings.cuh>
#include <plait/target/cuda/pipeline.cuh>
#include <plait/target/cuda/remote_moves.cuh>
#include <plait/target/cuda/stream.cuh>
#include <plait/target/cuda/target.cuh>
#include <plait/target/cuda/trace.cuh>
#include <plait/target/cuda/value_slots.cuh>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait::cuda {

/// Prepares launches when buffers or extents are new, and puts them on the stream in every run. A run then neither
/// allocates, nor waits, nor meets other ranks on the host.
template <class Communicator>
class runner final : private pass_source {
  public:
    using code = view<const pass_code>;
    template <class Lowered>
    static code code_of()
    {
        if constexpr (requires { Communicator::template passes_of<Lowered>(); }) { return Communicator::template passes_of<Lowered>(); }
        else { return functions_of<Lowered>; }
    }
    /// Ranks compare their arguments when any buffer or extent is new: all ranks change theirs in the same run.
    static constexpr bool always_agrees = false;

    runner(Communicator& comm, arguments& args, code passes)
        : comm_(comm), args_(args), image_(args.image()), code_(passes), memory_(comm.scratch()), values_(args, passes, memory_), moves_(comm, args)
    {
        check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, comm.device()), "CUDA: the device");
    }
    ~runner()
    {
        if constexpr (requires { comm_.settle(); }) { comm_.settle(); }
        else { static_cast<void>(cudaStreamSynchronize(comm_.stream())); }
        if (signals_ != nullptr) { comm_.deallocate(signals_, signal_words() * sizeof(std::uint32_t)); }
    }

    /// Slots that are this runner's to place, and the bytes that it has placed.
    [[nodiscard]] bool places(int slot) const { return values_.has(slot); }
    [[nodiscard]] std::size_t value_bytes() const { return memory_.value_bytes(); }
    /// How many chunks the pipeline that begins with pass `first` is cut into.
    [[nodiscard]] int chunks_of(std::size_t first) const { return cut(first).count; }
    /// Throws plait::error if a tensor is bound to memory that kernels cannot reach.
    void check_buffers() const
    {
        refuse_capture();
        for (int s = 0; s < image_.n_slots(); ++s) {
            if (!image_.slot_of(s).is_tensor || !args_.holds(s)) { continue; }
            const bound_buffer& b = args_.buffer(s);
            check_buffer(s, b.data);
            for (const piece& p : b.pieces) { check_buffer(s, p.count > 0 ? p.data : nullptr); }
        }
    }
    void prepare()
    {
        refuse_capture();
        const on_device here(comm_.device());
        comm_.collect();
        if (!beside_ && has_pipelines()) {
            beside_.emplace(true);
            if (!moves_.any()) { prepare_signals(); }
        }
        moves_.place([this](std::size_t p) { return chunks_of_pass(p); });
        do {
            memory_.restart();
            values_.restart();
            tape_.clear();
            build();
        } while (memory_.make_room());
        memory_.prepare(comm_.stream());
        // Allocating may wait for the device, on which the kernels of a rank that goes on would wait for this one.
        comm_.barrier(joined({image_.name, ": prepared"}).c_str());
    }
    void run()
    {
        comm_.check();
        const on_device here(comm_.device());
        if (tracer_.on() && !is_captured()) { return tracer_.run(tape_, comm_.stream(), beside_ ? beside_->get() : nullptr); }
        for (const tape_entry& e : tape_) { e.what->enqueue(e.beside ? beside_->get() : comm_.stream()); }
    }
    /// Records runs, except those that are captured into a graph. Waits for the stream.
    void set_trace(trace* to, std::string_view name)
    {
        if (is_captured()) { throw error({"program \"", image_.name, "\": set_trace while the stream is captured; set it before"}); }
        const on_device here(comm_.device());
        tracer_.set(to, image_, name, args_.world_rank(), comm_.stream());
    }
    void meet(const std::string& where)
    {
        if (!moves_.any()) { make_meeting(where, comm_.meeting_in(where))->enqueue(comm_.stream()); }
    }
    void copy(void* to, const void* from, std::size_t bytes)
    {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, comm_.stream()), joined({image_.name, ": staging"}));
    }

  private:
    void check_buffer(int slot, const void* p) const
    {
        if (p == nullptr) { return; }
        cudaPointerAttributes a{};
        check(cudaPointerGetAttributes(&a, p), joined({"program \"", image_.name, "\": a buffer"}));
        if (a.type != cudaMemoryTypeUnregistered) { return; }
        throw error({"program \"", image_.name, "\": tensor \"", image_.text(image_.slot_node(slot).name),
                     "\" is bound to memory of the host; bind memory of the device, such as comm.symmetric<T>(n)"});
    }
    [[nodiscard]] bool is_captured() const
    {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        check(cudaStreamIsCapturing(comm_.stream(), &status), "CUDA: the stream");
        return status != cudaStreamCaptureStatusNone;
    }
    void refuse_capture() const
    {
        if (is_captured()) {
            throw error({"program \"", image_.name,
                         "\": buffers or extents are new while the stream is captured; run once with them before"});
        }
    }

    [[nodiscard]] plait::detail::chunking cut(std::size_t first) const
    {
        const auto until = static_cast<std::size_t>(image_.plan.passes[first].chunked_until);
        return choose_device_chunks(args_, {&image_.plan.passes[first], until - first}, args_.parameters().chunks);
    }
    static plait::detail::chunking whole()
    {
        plait::detail::chunking c;
        c.extent = -1;
        return c;
    }
    /// How the pipeline is cut that a pass is in; one that is not cut, or in none, is whole.
    [[nodiscard]] plait::detail::chunking chunks_of_pass(std::size_t p) const
    {
        for (std::size_t first = 0; first <= p; ++first) {
            if (static_cast<std::size_t>(image_.plan.passes[first].chunked_until) <= p) { continue; }
            const plait::detail::chunking c = cut(first);
            return c.count > 1 ? c : whole();
        }
        return whole();
    }
    /// Meetings are parts of the kernels next to them where all ranks run these. Before ranks touch each other's memory for
    /// the first time they meet in any case: no meeting on the host orders what their streams did before.
    void build()
    {
        const std::size_t n = code_.size();
        const launch_choice choice(args_, code_, moves_.any());
        bool met = false;
        for (std::size_t p = 0; p < n;) {
            const pass_view& pass = image_.plan.passes[p];
            const auto until = static_cast<std::size_t>(pass.chunked_until);
            if (until != 0) {
                const plait::detail::chunking c = cut(p);
                if (c.count > 1) {
                    if (pass.barrier_before || !met) { add_meeting(p); }
                    met = true;
                    pipeline_builder(args_, p, c, signal_area_, code_, choice, *this, tape_).build();
                    if (until == n && image_.plan.barrier_after) { add_meeting(n - 1); }
                    p = until;
                    continue;
                }
            }
            const joint_launch next = choice.from(p);
            const auto passes = image_.plan.passes.subspan(p, next.passes);
            const bool before = pass.barrier_before || depends_in_pipeline(image_.plan.passes, p, next.passes) || (!met && plait::detail::any_of(passes, touches_peers));
            build_whole(p, next, before, p + next.passes == n && image_.plan.barrier_after);
            met = met || before;
            p += next.passes;
        }
    }
    pass_build build_of(std::size_t p, std::size_t passes, launch_list& list) override
    {
        if (passes == 1) { values_.place_results(p); }
        const std::string stage = stage_of(p);
        return {args_, image_.plan.passes[p], memory_, list, stage, {}, {}, comm_.meeting_in(stage), multiprocessors_, comm_.ranks_on_a_device(), {}, nullptr, multicast()};
    }
    [[nodiscard]] const multicast_memory* multicast() const
    {
        if constexpr (requires { comm_.multicast(); }) { return args_.parameters().multicast ? comm_.multicast() : nullptr; }
        else { return nullptr; }
    }
    void build_whole(std::size_t p, const joint_launch& how, bool before, bool after)
    {
        const auto passes = image_.plan.passes.subspan(p, how.passes);
        // What a product could do in its epilogue meets outside: another rank's buffers may allow that, and ranks meet alike.
        const bool may_be_joined = p > 0 && code_[p - 1].with_next != nullptr;
        const bool inside = image_.groups == 1 && !plait::detail::any_of(passes, [](const pass_view& q) { return !meets_inside(q); }) && !may_be_joined;
        launch_list list;
        pass_build b = build_of(p, how.passes, list);
        if (before && inside) { b.before = b.reports; }
        if (after && inside) { b.after = b.reports; }
        if (before && !inside) { add_meeting(p); }
        put_messages(p, how, false, b);
        if (args_.is_in(passes[0].group)) { how.build(b); }
        for (auto& l : list) { tape_.push_back({std::move(l), false, static_cast<int>(p), -1}); }
        put_messages(p, how, true, b);
        if (after && !inside) { add_meeting(p); }
    }
    /// Passes by rows have all messages before and after them: none reads elsewhere what one before it writes.
    void put_messages(std::size_t p, const joint_launch& how, bool results, const pass_build& b)
    {
        for (std::size_t q = p; q < p + how.passes; ++q) {
            launch_list list;
            add_messages(q, whole(), 0, results, b, list);
            for (auto& l : list) { tape_.push_back({std::move(l), false, static_cast<int>(q), -1, true}); }
        }
    }
    void add_messages(std::size_t p, const plait::detail::chunking& cut, int chunk, bool results, const pass_build& b, launch_list& list) override
    {
        moves_.build(p, cut, chunk, results, b, list);
    }
    [[nodiscard]] std::string stage_of(std::size_t p) const
    {
        return joined({"program \"", image_.name, "\", pass ", static_cast<int>(p), " (", name_of(image_.plan.passes[p].kind), ")"});
    }
    void add_meeting(std::size_t p)
    {
        const std::string stage = stage_of(p);
        const meeting m = comm_.meeting_in(stage);
        if (m.signals != nullptr) { tape_.push_back({make_meeting(stage, m), false, -1, -1}); }
    }
    [[nodiscard]] bool has_pipelines() const
    {
        return plait::detail::any_of(image_.plan.passes, [](const pass_view& p) { return p.chunked_until != 0; });
    }
    [[nodiscard]] bool has_launches_at_once() const
    {
        return plait::detail::any_of(code_, [](const pass_code& c) { return c.in_chunks != nullptr; });
    }
    [[nodiscard]] std::size_t signal_words() const
    {
        const std::size_t n = code_.size();
        const std::size_t chunks = has_launches_at_once() ? n * plait::detail::max_signalled_chunks : 0;
        return (n + chunks) * static_cast<std::size_t>(args_.world_size()) + n + n * n + 2 * chunks;
    }
    /// Once, on all ranks.
    void prepare_signals()
    {
        const std::size_t bytes = signal_words() * sizeof(std::uint32_t);
        signals_ = static_cast<std::uint32_t*>(comm_.allocate(bytes));
        check(cudaMemsetAsync(signals_, 0, bytes, comm_.stream()), "CUDA: clearing signals");
        check(cudaStreamSynchronize(comm_.stream()), "CUDA: clearing signals");
        const auto all = plait::detail::addresses_on_all_ranks(comm_, signals_, signal_words(), joined({image_.name, ": signals"}).c_str());
        areas_.emplace(comm_.scratch());
        areas_->reserve(all.size() * sizeof(void*));
        check(cudaMemcpyAsync(areas_->data(), all.data(), all.size() * sizeof(void*), cudaMemcpyHostToDevice, comm_.stream()), "CUDA: copying addresses");
        const std::size_t n = code_.size();
        const auto world = static_cast<std::size_t>(args_.world_size());
        const std::size_t chunks = has_launches_at_once() ? n * plait::detail::max_signalled_chunks : 0;
        std::uint32_t* const own = signals_ + (n + chunks) * world;  // what other ranks write comes first
        signal_area_ = {reinterpret_cast<std::uint32_t* const*>(areas_->data()), signals_, own, own + n,
                        static_cast<std::int64_t>(n * world), own + n + n * n, own + n + n * n + chunks};
    }

    Communicator& comm_;
    arguments& args_;
    const program_image& image_;
    code code_;
    int multiprocessors_ = 1;
    launch_memory memory_;
    value_slots values_;
    remote_moves<Communicator> moves_;
    launch_tape tape_;
    device_tracer tracer_;
    std::optional<owned_stream> beside_;  // its kernels come before others
    std::optional<device_block> areas_;
    std::uint32_t* signals_ = nullptr;
    signal_area signal_area_;
};

}  // namespace plait::cuda
