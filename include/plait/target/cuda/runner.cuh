// The CUDA target: the passes of a plan as kernels on the stream of a communicator.
#pragma once

#include <plait/run/executable.hpp>
#include <plait/target/cuda/functions_of.cuh>
#include <plait/target/cuda/target.cuh>

#include <cstddef>
#include <span>
#include <string>

namespace plait::cuda {

/// Prepares launches when buffers or extents are new, and puts them on the stream in every run. A run then neither
/// allocates, nor waits, nor meets other ranks on the host.
template <class Communicator>
class runner {
  public:
    using code = std::span<const pass_function>;
    template <class Lowered>
    static code code_of()
    {
        return functions_of<Lowered>;
    }
    /// Ranks compare their arguments when any buffer or extent is new: all ranks change theirs in the same run.
    static constexpr bool always_agrees = false;

    runner(Communicator& comm, arguments& args, code passes)
        : comm_(comm), args_(args), image_(args.image()), code_(passes), memory_(comm)
    {
        check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, comm.device()), "CUDA: the device");
    }
    ~runner() { static_cast<void>(cudaStreamSynchronize(comm_.stream())); }

    void set_chunks(int count) { chunks_ = count; }
    [[nodiscard]] int chunks() const { return chunks_; }

    void prepare()
    {
        refuse_capture();
        const on_device here(comm_.device());
        comm_.collect();
        do {
            memory_.restart();
            launches_.clear();
            build();
        } while (memory_.make_room(comm_.stream()));
        memory_.upload(comm_.stream());
        // Allocating may wait for the device, on which the kernels of a rank that goes on would wait for this one.
        comm_.barrier(joined({image_.name, ": prepared"}).c_str());
    }
    void run()
    {
        comm_.check();
        const on_device here(comm_.device());
        for (const auto& l : launches_) { l->enqueue(comm_.stream()); }
    }
    void meet(const std::string& where) { make_meeting(where, comm_.meeting_in(where))->enqueue(comm_.stream()); }
    void copy(void* to, const void* from, std::size_t bytes)
    {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, comm_.stream()), joined({image_.name, ": staging"}));
    }

  private:
    void refuse_capture() const
    {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        check(cudaStreamIsCapturing(comm_.stream(), &status), "CUDA: the stream");
        if (status != cudaStreamCaptureStatusNone) {
            throw error({"program \"", image_.name,
                         "\": buffers or extents are new while the stream is captured; run once with them before"});
        }
    }

    /// Meetings are parts of the kernels next to them where all ranks run these. Before ranks touch each other's memory for
    /// the first time they meet in any case: no meeting on the host orders what their streams did before.
    void build()
    {
        const std::size_t n = code_.size();
        bool met = false;
        for (std::size_t p = 0; p < n; ++p) {
            const pass_view& pass = image_.plan.passes[p];
            const std::string stage = joined({"program \"", image_.name, "\", pass ", static_cast<int>(p), " (", name_of(pass.kind), ")"});
            const bool before = pass.barrier_before || depends_in_pipeline(p) || (!met && touches_peers(pass));
            const bool after = p + 1 == n && image_.plan.barrier_after;
            const bool inside = image_.groups == 1 && meets_inside(pass.kind);
            met = met || before;
            pass_build b{args_, pass, memory_, launches_, stage, {}, {}, comm_.meeting_in(stage), multiprocessors_, comm_.ranks_on_a_device(), {}};
            if (before && inside) { b.before = b.reports; }
            if (before && !inside) { add_meeting(stage, b.reports); }
            if (after && inside) { b.after = b.reports; }
            if (args_.is_in(pass.group)) { code_[p](b); }
            if (after && !inside) { add_meeting(stage, b.reports); }
        }
    }
    static bool touches_peers(const pass_view& pass)
    {
        const auto reads = [](const pass_operand& o) { return o.slot >= 0 && o.from != source::own; };
        const auto writes = [](const pass_result& r) { return r.to != destination::own; };
        return std::ranges::any_of(pass.operands, reads) || std::ranges::any_of(pass.results, writes);
    }
    void add_meeting(const std::string& stage, const meeting& m)
    {
        if (m.signals != nullptr) { launches_.push_back(make_meeting(stage, m)); }
    }
    static bool meets_inside(pass_kind k) { return k == pass_kind::map || k == pass_kind::all_reduce || k == pass_kind::reduce_axis; }
    /// Inside a pipeline the plan has no barriers: whether this pass reads what ranks wrote in one before.
    [[nodiscard]] bool depends_in_pipeline(std::size_t p) const
    {
        const auto passes = image_.plan.passes;
        for (std::size_t first = 0; first < p; ++first) {
            if (static_cast<std::size_t>(passes[first].chunked_until) <= p) { continue; }
            for (std::size_t j = first; j < p; ++j) {
                if (plait::detail::depends_on(passes[p], passes[j]) != plait::detail::signal_scope::none) { return true; }
            }
        }
        return false;
    }

    Communicator& comm_;
    arguments& args_;
    const program_image& image_;
    code code_;
    int multiprocessors_ = 1;
    int chunks_ = 0;
    launch_memory memory_;
    launch_list launches_;
};

}  // namespace plait::cuda
