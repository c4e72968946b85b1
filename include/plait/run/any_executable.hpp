// A program ready to run on a communicator, whichever its target is.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/fabric/addresses.hpp>
#include <plait/fabric/thrown.hpp>
#include <plait/graph/node.hpp>
#include <plait/graph/program.hpp>
#include <plait/lang/expression.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/plan.hpp>
#include <plait/run/agreement.hpp>
#include <plait/run/bind.hpp>
#include <plait/run/checked_program.hpp>
#include <plait/run/one_at_a_time.hpp>
#include <plait/run/runner_for.hpp>
#include <plait/run/staging.hpp>
#include <plait/run/trace.hpp>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

/// A scheduled program, ready to run on the ranks of a communicator. Every rank builds one and calls it, with its own
/// buffers: `run(g = grad, p = param, lr = 1e-3f)`; each tensor, scalar and dimension of the program by its name.
/// Tensors are bound to contiguous ranges, plain pointers or plait::scattered; a sliced one to this rank's part of it
/// (slice_of). Dimensions are deduced from buffers where that is possible, or bound: `N = 1024`. Scalars have the same
/// value on all ranks.
///
/// A call is collective. All ranks compare program, extents and arguments before anything is written; if one of them
/// was given bad arguments, every rank throws plait::error. (On devices they do so when buffers or extents are new, which then
/// must be so on all ranks. An index of an embedding that is out of range is found only while running: results are unspecified
/// then.) Workspace is allocated by the first call, and again only if
/// it must grow. The communicator must outlive the executable; only its rank's thread uses either.
template <class Communicator>
class executable {
    using runner = detail::runner_t<Communicator>;

  public:
    /// Of a program or schedule. An operation without a kernel on this target is a compile error.
    template <auto Graph>
    executable(program_t<Graph>, Communicator& comm)
        : executable(comm, detail::image<typename detail::checked_program<program_t<Graph>>::type>(),
                     detail::code_of<runner, typename detail::checked_program<program_t<Graph>>::type>())
    {
    }
    /// What is refused already is not refused again.
    template <detail::refused_expression Refused>
    executable(Refused, Communicator& comm);

    executable(const executable&) = delete;
    executable& operator=(const executable&) = delete;
    ~executable() { release_workspace(); }

    /// Runs the program once. Bindings are `name = value`.
    /// @throws plait::error on every rank, naming tensor, rule and fix, before anything is written.
    template <std::same_as<binding>... Bindings>
    void operator()(const Bindings&... bindings)
    {
        const std::array<binding, sizeof...(Bindings) + 1> all{bindings..., binding{}};
        run(view(all).first(sizeof...(Bindings)));
    }
    /// The same with bindings that are known at run time only.
    void run(view<const binding> bindings)
    {
        const detail::one_at_a_time here(busy_, image_.name);
        agree(bindings);
        run_agreed();
    }

    /// The first half of a run, also collective: takes over the arguments and checks them with all ranks. Then the second
    /// half must follow, or `abandon`, on all ranks.
    void agree(view<const binding> bindings)
    {
        std::string problem;
        bool changed = true;
        try {
            changed = binder_.bind(bindings);
            if (changed) { runner_.check_buffers(); }
        } catch (...) {
            problem = detail::text_of_current_exception();
        }
        if (changed && problem.empty()) { staging_.remember(); }
        // Before the others learn that this rank takes part: from then on they may touch each other's buffers.
        if constexpr (requires { comm_.enter_run(); }) { comm_.enter_run(); }
        bool underway = false;
        guarded(underway, [&] {
            if (!runner::always_agrees && agreed_ && !problem.empty()) {  // the others may not meet this rank now
                underway = true;
                throw error(problem);
            }
            if (runner::always_agrees || changed || !agreed_) {
                agreed_ = false;
                if (agreement_.reach(problem, changed, at_start_.c_str())) { prepared_ = false; }
                agreed_ = true;
            }
        });
    }
    /// The second half: runs what was agreed on.
    void run_agreed()
    {
        bool underway = true;
        guarded(underway, [&] {
            if (!prepared_) { prepare_workspace(); }
            const auto copy_bytes = [this](void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); };
            if (staging_.copy_in(copy_bytes)) { runner_.meet(at_start_); }  // others read the copies
            runner_.run();
            staging_.copy_out(copy_bytes);
        });
        abandon();
    }
    /// Instead of the second half: nothing has been read or written.
    void abandon() noexcept
    {
        if constexpr (requires { comm_.leave_run(false); }) { comm_.leave_run(false); }
    }

    /// Cuts the pipelines of `overlap` into as many chunks, as far as their extents allow; 0 lets plait choose. All ranks
    /// must set the same. @throws plait::error if negative.
    void set_chunks(int count)
    {
        parameters p = args_.parameters();
        p.chunks = count;
        set_parameters(p);
    }
    /// Sets all that the schedule leaves open. All ranks must set the same. @throws plait::error if chunks are negative.
    void set_parameters(const parameters& p)
    {
        if (p.chunks < 0) { throw error({"program \"", image_.name, "\": ", p.chunks, " chunks; set 1 or more, or 0"}); }
        if (p == args_.parameters()) { return; }
        agreed_ = prepared_ = false;
        args_.set_parameters(p);
    }

    /// Records in `t` what this rank does in calls from now on, under this name (empty: the program's), until it is given
    /// null. Not collective: a rank may record alone. (On devices this waits for the stream. Events reach `t` in later runs,
    /// the last ones with set_trace(nullptr); runs that are captured into a graph are not recorded.)
    void set_trace(trace* t, std::string_view name = {}) { runner_.set_trace(t, name); }

    /// Bytes of workspace that this rank holds.
    [[nodiscard]] std::size_t workspace_bytes() const
    {
        if constexpr (requires { runner_.value_bytes(); }) { return workspace_size_ + runner_.value_bytes(); }
        else { return workspace_size_; }
    }
    /// The lowered program as data: its name, operations and plan.
    [[nodiscard]] const program_image& image() const { return image_; }
    /// Copies bytes of memory that this target reaches, in the order of runs.
    void copy(void* to, const void* from, std::size_t bytes) { runner_.copy(to, from, bytes); }
    /// What the last agreed run was given; extents are -1 before.
    [[nodiscard]] const plait::arguments& arguments() const { return args_; }
    /// How many chunks a run with these extents cuts the pipeline that begins with pass `first` into.
    [[nodiscard]] int chunks_of(std::size_t first) const { return runner_.chunks_of(first); }
    /// Whether a tensor's slot is copied before and after runs, since other ranks cannot reach its buffer.
    [[nodiscard]] bool is_staged(int slot) const { return staging_.is_staged(slot); }
    /// A hash of its extents, the same on all ranks.
    [[nodiscard]] std::uint64_t extents_hash() const { return agreement_.extents(); }

  private:
    /// What must not leave the others waiting. `underway`: they count on this rank.
    template <class F>
    void guarded(bool& underway, F&& f)
    {
        try {
            f();
        } catch (...) {
            if (underway) { comm_.fail(detail::text_of_current_exception()); }
            if constexpr (requires { comm_.leave_run(true); }) { comm_.leave_run(underway); }
            throw;
        }
    }

    executable(Communicator& comm, const program_image& image, typename runner::code code)
        : comm_(comm),
          image_(image),
          args_(image, comm.rank(), checked_world(image, comm.size())),
          binder_(args_),
          agreement_(comm, args_),
          runner_(comm, args_, code),
          staging_(args_),
          peer_workspace_(static_cast<std::size_t>(comm.size())),
          at_start_(joined({image.name, ": start"})),
          at_workspace_(joined({image.name, ": workspace"}))
    {
    }

    static int checked_world(const program_image& image, int world)
    {
        if (world % image.groups != 0) {
            throw error({"program \"", image.name, "\" has ", image.groups, " groups of equal size; ", world,
                         " ranks cannot be divided into them"});
        }
        return world;
    }

    /// Workspace slots lie one after the other in one block of memory that peers can touch.
    void prepare_workspace()
    {
        for (int s = 0; s < image_.n_slots(); ++s) { staging_.set(s, agreement_.is_staged(s)); }
        const std::size_t bytes = place_slots([](int, std::size_t) {});
        if (bytes > workspace_size_) { grow_workspace(bytes); }
        place_slots([&](int s, std::size_t at) {
            for (int r = 0; r < args_.ranks(); ++r) {
                std::byte* base = peer_workspace_[static_cast<std::size_t>(args_.holder_of(s, r))];
                args_.buffer(s, r) = {base == nullptr ? nullptr : base + at, {}};
            }
        });
        runner_.prepare();
        prepared_ = true;
    }
    /// Whether the runner gives a slot its memory, if it needs any.
    [[nodiscard]] bool is_runners(int slot) const
    {
        if constexpr (requires { runner_.places(slot); }) { return runner_.places(slot); }
        else { return false; }
    }
    template <class Use>
    std::size_t place_slots(Use&& use)
    {
        std::size_t bytes = 0;
        for (int s = 0; s < image_.n_slots(); ++s) {
            if (image_.slot_of(s).is_tensor ? !staging_.is_staged(s) : is_runners(s)) { continue; }
            const node& n = image_.slot_node(s);
            use(s, bytes);
            // Room for the whole: other ranks' parts have other sizes, and all blocks must be laid out alike.
            bytes += (static_cast<std::size_t>(args_.elements_of(n)) * size_of(n.type) + 63) / 64 * 64;
        }
        return bytes;
    }
    void grow_workspace(std::size_t bytes)
    {
        release_workspace();
        workspace_ = static_cast<std::byte*>(comm_.allocate(bytes));
        workspace_size_ = bytes;
        peer_workspace_ = detail::addresses_on_all_ranks(comm_, workspace_, bytes, at_workspace_.c_str());
    }
    void release_workspace() noexcept
    {
        if (workspace_ != nullptr) { comm_.deallocate(workspace_, workspace_size_); }
        workspace_ = nullptr;
        workspace_size_ = 0;
    }

    Communicator& comm_;
    program_image image_;
    plait::arguments args_;
    binder binder_;
    detail::agreement<Communicator> agreement_;
    runner runner_;
    detail::staging staging_;
    std::vector<std::byte*> peer_workspace_;
    std::byte* workspace_ = nullptr;
    std::size_t workspace_size_ = 0;
    std::atomic<bool> busy_ = false;  // a thread is in run
    bool agreed_ = false;    // on the buffers and extents of the last run
    bool prepared_ = false;
    std::string at_start_;
    std::string at_workspace_;
};

template <auto Graph, class Communicator>
executable(program_t<Graph>, Communicator&) -> executable<Communicator>;
template <detail::refused_expression Refused, class Communicator>
executable(Refused, Communicator&) -> executable<Communicator>;

}  // namespace plait
