// tune: a measured choice among schedules, per size of the problem (the autotuner of CoCoNeT, section 5).
#pragma once

#include <plait/core/view.hpp>
#include <plait/fabric/thrown.hpp>
#include <plait/plan/machine.hpp>
#include <plait/tune/candidates.hpp>
#include <plait/tune/decisions.hpp>
#include <plait/tune/device.hpp>
#include <plait/tune/race.hpp>
#include <plait/tune/saved_tensors.hpp>
#include <plait/tune/search.hpp>
#include <plait/tune/size_class.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace plait {

/// How a tuner works. Rank 0's count.
struct tune_options {
    /// A file that keeps decisions; "": none. Made if missing; one that is damaged or of other programs, sizes, ranks,
    /// fabrics and devices does no harm.
    std::string cache{};
    /// Of at least how many schedules, those that the model says are fastest, times are taken; of more where there is time, and
    /// always of the first one.
    int measured = 8;
    /// About so many seconds go into each of the (at most three) measurements of a size class.
    double seconds = 0.5;
    /// What the model goes by; see calibrate.
    machine model{};
    /// Told what is decided, on rank 0, and warnings about the cache. By default warnings go to stderr.
    std::function<void(std::string_view)> say{};
};

/// What was decided for a size class.
struct tuned_choice {
    std::string sizes;
    std::string schedule;
    parameters chosen;
    double seconds = 0;      ///< of a run, as measured when it was decided
    double unscheduled = 0;  ///< of the first schedule
    bool from_cache = false;
};

/// An executable that runs, for each size of the problem, the schedule that was measured to be the fastest; called like
/// an executable. The first call with sizes of a new class (every extent rounded down to a power of two) measures: the
/// schedules run on the buffers of that call, several times, and then the tensors that they write are as they were. That
/// takes a copy of these tensors, in memory of the host. All ranks choose the same: they compare what all have measured.
template <class Communicator>
class tuned {
  public:
    /// Of candidates(...) or explore(...).
    template <class Schedules>
    tuned(const Schedules& list, Communicator& comm, tune_options options)
        : comm_(comm), options_(std::move(options)), candidates_(detail::candidates_of<Communicator>(list))
    {
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            if (index_of_name(candidates_[i].name) != i) {
                throw error({"tune: two schedules are called \"", candidates_[i].name, "\"; give each its own name"});
            }
        }
        current_ = &candidates_[0].executable_on(comm_);
    }
    tuned(const tuned&) = delete;
    tuned& operator=(const tuned&) = delete;

    /// Runs the program once; see executable. @throws plait::error on every rank.
    template <std::same_as<binding>... Bindings>
    void operator()(const Bindings&... bindings)
    {
        const std::array<binding, sizeof...(Bindings) + 1> all{bindings..., binding{}};
        run(view(all).first(sizeof...(Bindings)));
    }
    /// The same with bindings that are known at run time only.
    void run(view<const binding> bindings)
    {
        current_->agree(bindings);
        if (settled_ && current_->extents_hash() == extents_) { return current_->run_agreed(); }
        settle(bindings);
    }

    /// What the last run ran.
    [[nodiscard]] executable<Communicator>& current() { return *current_; }
    /// All decisions so far; the last one that was made or looked up last.
    [[nodiscard]] view<const tuned_choice> choices() const { return choices_; }
    /// How many schedules there are to choose from.
    [[nodiscard]] std::size_t schedules() const { return candidates_.size(); }

  private:
    /// All ranks have agreed on arguments of other extents than before.
    void settle(view<const binding> bindings)
    {
        const std::uint64_t extents = current_->extents_hash();
        const std::string sizes = detail::size_class(current_->arguments());
        const auto known = std::ranges::find(choices_, sizes, &tuned_choice::sizes);
        if (known == choices_.end()) {
            decide(sizes, bindings);
        } else {
            current_->abandon();
            std::rotate(known, known + 1, choices_.end());
            use(choices_.back().schedule, choices_.back().chosen);
        }
        current_->run(bindings);
        extents_ = extents;
        settled_ = true;
    }
    void use(std::string_view schedule, const parameters& chosen)
    {
        current_ = &candidates_[index_of_name(schedule)].executable_on(comm_);
        current_->set_parameters(chosen);
    }

    /// What all ranks take from rank 0.
    struct order {
        bool found = false;
        detail::decision cached{};
        machine model{};
        int measured = 0;
        double seconds = 0;
    };

    void decide(const std::string& sizes, view<const binding> bindings)
    {
        const detail::decision_key key = key_of(sizes);
        order mine;
        if (comm_.rank() == 0) {
            mine = {false, {}, options_.model, options_.measured, options_.seconds};
            if (const auto cached = find_cached(key)) {
                mine.found = true;
                mine.cached = *cached;
            }
        }
        current_->abandon();
        const order all = *static_cast<const order*>(comm_.exchange(&mine, sizeof mine, "tuning: what is known")[0]);
        tuned_choice choice{sizes, {}, all.cached.chosen, all.cached.seconds, all.cached.unscheduled, all.found};
        if (all.found) {
            choice.schedule = candidates_[index_of(all.cached.schedule)].name;
        } else {
            choice = measure(sizes, bindings, all);
        }
        use(choice.schedule, choice.chosen);
        drop_others();
        choices_.push_back(choice);
        if (comm_.rank() == 0) { report(key, choice); }
    }

    tuned_choice measure(const std::string& sizes, view<const binding> bindings, const order& how)
    {
        executable<Communicator>& first = candidates_[0].executable_on(comm_);
        const auto copy = [&first](void* to, const void* from, std::size_t bytes) { first.copy(to, from, bytes); };
        try {
            const detail::saved_tensors saved(current_->arguments(), copy);
            detail::settle(comm_);
            const auto put_back = [&] {
                comm_.barrier("tuning: all have run");
                saved.restore();
                detail::settle(comm_);
                comm_.barrier("tuning: tensors are back");
            };
            try {
                const detail::search<Communicator> of(comm_, candidates_, bindings, current_->arguments());
                const auto [best, unscheduled] = of.fastest(how.model, how.measured, how.seconds);
                put_back();
                return {sizes, candidates_[best.candidate].name, best.chosen, best.seconds, unscheduled, false};
            } catch (...) {
                saved.restore();
                throw;
            }
        } catch (...) {
            comm_.fail(detail::text_of_current_exception());  // the others must not wait for this rank
            throw;
        }
    }

    /// Executables hold workspace: those that no decision needs go, in the same order on all ranks.
    void drop_others()
    {
        for (auto& c : candidates_) {
            const bool used = c.made.get() == current_ || std::ranges::any_of(choices_, [&](const tuned_choice& t) { return t.schedule == c.name; });
            if (!used) { c.made.reset(); }
        }
    }

    [[nodiscard]] std::size_t index_of_name(std::string_view name) const
    {
        return static_cast<std::size_t>(std::ranges::find(candidates_, name, &detail::candidate<Communicator>::name) - candidates_.begin());
    }
    [[nodiscard]] std::size_t index_of(std::uint64_t schedule) const
    {
        std::size_t i = 0;
        while (i < candidates_.size() && candidates_[i].image.hash != schedule) { ++i; }
        return i;
    }
    [[nodiscard]] detail::decision_key key_of(const std::string& sizes) const
    {
        std::uint64_t h = 0;
        for (const auto& c : candidates_) { h = detail::mix(h, c.image.hash); }
        const program_image& first = candidates_[0].image;
        return {std::string(first.name),     detail::hex_text(h),            detail::dtypes_text(first), sizes, comm_.size(),
                detail::fabric_name(comm_), detail::device_name(comm_)};
    }
    [[nodiscard]] std::optional<detail::decision> find_cached(const detail::decision_key& key) const
    {
        if (options_.cache.empty()) { return std::nullopt; }
        const auto found = detail::decision_file(options_.cache).find(key, [this](const std::string& w) { warn(w); });
        if (found && index_of(found->schedule) == candidates_.size()) {
            warn(joined({"tuner cache '", options_.cache, "': the decision for program \"", key.program,
                         "\" names a schedule that is not to choose from, and is made anew"}));
            return std::nullopt;
        }
        return found;
    }
    void report(const detail::decision_key& key, const tuned_choice& c) const
    {
        if (options_.say) {
            const std::string more = text_of(c.chosen);
            char times[96];
            std::snprintf(times, sizeof times, "%.3g us, unscheduled %.3g us", c.seconds * 1e6, c.unscheduled * 1e6);
            options_.say(joined({"tune \"", key.program, "\", ", c.sizes, ", ", key.ranks, " ranks: ", c.schedule,
                                 more.empty() ? "" : ", ", more, c.from_cache ? " (from the cache), " : ", ", times}));
        }
        if (c.from_cache || options_.cache.empty()) { return; }
        const program_image& chosen = candidates_[index_of_name(c.schedule)].image;
        const auto w = [this](const std::string& text) { warn(text); };
        try {
            detail::decision_file(options_.cache).add(key, {chosen.hash, c.chosen, c.seconds, c.unscheduled}, w);
        } catch (const error&) {
            warn(joined({"tuner cache: ", detail::text_of_current_exception(), "; the decision holds for this run"}));
        }
    }
    void warn(const std::string& text) const
    {
        if (options_.say) { return options_.say("warning: " + text); }
        std::fprintf(stderr, "plait: warning: %s\n", text.c_str());
    }

    Communicator& comm_;
    tune_options options_;
    std::vector<detail::candidate<Communicator>> candidates_;
    executable<Communicator>* current_ = nullptr;
    std::uint64_t extents_ = 0;
    bool settled_ = false;
    std::vector<tuned_choice> choices_;
};

/// An executable of the fastest of the schedules, measured per size class; the first is the one that it is never slower
/// than. `list`: candidates(...), or explore(program, same_storage).
template <class Schedules, class Communicator>
requires requires(const Schedules& s) { detail::candidates_of<Communicator>(s); }
tuned<Communicator> tune(const Schedules& list, Communicator& comm, tune_options options = {})
{
    return {list, comm, std::move(options)};
}
/// Of all schedules of a program that are bound to the same buffers.
template <auto Graph, class Communicator>
tuned<Communicator> tune(program_t<Graph> program, Communicator& comm, tune_options options = {})
{
    return {explore(program, same_storage), comm, std::move(options)};
}
/// What is refused stays that: there is one error.
template <detail::refused_expression Refused, class Communicator>
void tune(Refused, Communicator&, tune_options = {})
{
}

}  // namespace plait
