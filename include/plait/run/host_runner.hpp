// The host target: the passes of a plan, one after the other or as pipelines, on the thread of a rank.
#pragma once

#include <plait/core/view.hpp>
#include <plait/fabric/addresses.hpp>
#include <plait/fabric/symmetric_buffer.hpp>
#include <plait/run/pipeline.hpp>
#include <plait/run/runner_for.hpp>
#include <plait/run/trace.hpp>
#include <plait/target/host/all_to_all_pass.hpp>
#include <plait/target/host/functions_of.hpp>
#include <plait/target/host/map_pass.hpp>
#include <plait/target/host/reduce_pass.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace plait::detail {

/// Runs the passes of one executable. (A target offers what this class has; see runner_for.)
template <class Communicator>
class host_runner {
  public:
    /// The code of a lowered program's passes.
    using code = view<const host::pass_functions>;
    template <class Lowered>
    static code code_of()
    {
        return host::functions_of<Lowered>;
    }
    /// Ranks compare their arguments in every run, not only when buffers or extents are new.
    static constexpr bool always_agrees = true;

    host_runner(Communicator& comm, arguments& args, code passes)
        : comm_(comm),
          args_(args),
          image_(args.image()),
          code_(passes),
          messages_(comm, args),
          pipelines_(comm, args, messages_, tracer_),
          between_(joined({image_.name, ": between passes"})),
          at_workspace_(joined({image_.name, ": workspace"})),
          in_chunks_(joined({image_.name, ": pipeline"})),
          at_end_(joined({image_.name, ": end"}))
    {
    }

    /// How many chunks the pipeline that begins with pass `first` is cut into.
    [[nodiscard]] int chunks_of(std::size_t first) const { return pipelines_.cut(first).count; }
    /// Records what this rank does, under this name (empty: the program's), until it is given null.
    void set_trace(trace* to, std::string_view name) { tracer_.set(to, image_, name, args_.world_rank()); }
    /// Throws plait::error if a buffer that was bound lies where this target cannot reach it.
    void check_buffers() const {}
    /// When buffers or extents are new, and all slots have their places. All ranks.
    void prepare()
    {
        if (pipelines_.uses_signals() && !signals_) { prepare_signals(); }
        messages_.place_mirrors(at_workspace_.c_str());
    }
    /// Waits for all ranks.
    void meet(const std::string& where)
    {
        const std::int64_t begin = tracer_.now();
        if (link_end* wire = wire_of(comm_)) { wire->settle(); }
        comm_.barrier(where.c_str());
        tracer_.end_waiting(begin);
    }
    static void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

    void run()
    {
        const std::int64_t begin = tracer_.begin_run();
        for (std::size_t p = 0; p < code_.size();) {
            const pass_view& pass = image_.plan.passes[p];
            if (pass.barrier_before) { meet(between_); }
            if (pass.chunked_until != 0) {
                pipelines_.run(p, in_chunks_.c_str(), [&](std::size_t q, const host::chunk& c) { run_pass(q, c); });
                p = static_cast<std::size_t>(pass.chunked_until);
                continue;
            }
            run_whole(p++);
        }
        if (image_.plan.barrier_after) { meet(at_end_); }
        tracer_.end_run(begin);
    }

  private:
    void prepare_signals()
    {
        signals_.emplace(comm_, code_.size());
        pipelines_.connect(addresses_on_all_ranks(comm_, signals_->data(), code_.size(), at_workspace_.c_str()));
    }
    void run_whole(std::size_t p)
    {
        const bool mine = args_.is_in(image_.plan.passes[p].group);
        const auto work = [&] {
            const std::int64_t begin = tracer_.now();
            run_pass(p, {});
            tracer_.end_pass(begin, p);
        };
        if (messages_.any()) {
            std::int64_t begin = tracer_.now();
            messages_.run_whole(p, between_.c_str(), [&] {
                tracer_.end_moving(begin, p);
                if (mine) { work(); }
                begin = tracer_.now();
            });
            tracer_.end_moving(begin, p);
            return;
        }
        if (!mine) { return; }
        link_end* wire = wire_of(comm_);
        if (wire == nullptr) { return work(); }
        const moved_bytes moved = bytes_moved(args_, image_.plan.passes[p]);
        if (wire->is_simulated() && moved.in > 0) {
            const std::int64_t begin = tracer_.now();
            std::this_thread::sleep_until(tracer_.transfer(*wire, moved.in, std::chrono::steady_clock::now(), p));
            tracer_.end_moving(begin, p);
        } else {
            wire->transfer(moved.in);
        }
        work();
        tracer_.transfer(*wire, moved.out, wire->is_simulated() ? std::chrono::steady_clock::now() : link_end::time{}, p);
    }
    void run_pass(std::size_t p, const host::chunk& within)
    {
        const pass_view& pass = image_.plan.passes[p];
        const host::pass_context context{args_, pass, code_[p], scratch_, within};
        switch (pass.kind) {
        case pass_kind::map: host::map_pass(context).run(); break;
        case pass_kind::all_reduce: host::map_pass(context).run_all_reduce(); break;
        case pass_kind::reduce_axis: host::reduce_pass(context).run(); break;
        case pass_kind::all_to_all: host::run_all_to_all(context); break;
        default: context.code.contract(context);
        }
    }

    Communicator& comm_;
    arguments& args_;
    const program_image& image_;
    code code_;
    tracer tracer_;
    messages<Communicator> messages_;
    pipeline_runner<Communicator> pipelines_;
    std::optional<symmetric_buffer<chunk_signal, Communicator>> signals_;
    host::pass_scratch scratch_;
    std::string between_;
    std::string at_workspace_;
    std::string in_chunks_;
    std::string at_end_;
};

}  // namespace plait::detail
