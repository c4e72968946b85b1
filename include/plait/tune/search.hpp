// The search of a tuner for the fastest schedule, with what it leaves open, at the sizes of one run.
#pragma once

#include <plait/core/view.hpp>
#include <plait/tune/candidates.hpp>
#include <plait/tune/race.hpp>
#include <plait/tune/variants.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace plait::detail {

/// Races of candidates on the arguments of a run. All ranks search alike, and find the same.
template <class Communicator>
class search {
  public:
    /// `sizes`: the arguments of a run that all ranks have agreed on.
    search(Communicator& comm, std::vector<candidate<Communicator>>& candidates, view<const binding> bindings, const arguments& sizes)
        : comm_(comm), candidates_(candidates), bindings_(bindings), sizes_(sizes)
    {
    }

    /// The fastest, and the seconds of the first candidate. Three races of about `seconds` each: of the first candidate and the
    /// `measured` others that the model ranks best, and more where runs are so short that there is time; of what the best of them
    /// leave open; of the best of all with the first candidate.
    [[nodiscard]] std::pair<variant, double> fastest(const machine& model, int measured, double seconds) const
    {
        std::vector<variant> field = best_by_model(model, measured, seconds);
        time(field, seconds);
        const variant first = field[0];

        std::vector<variant> open = variants_of_the_best(field);
        if (!open.empty()) {
            open.insert(open.begin(), first);
            time(open, seconds);
            field.insert(field.end(), open.begin() + 1, open.end());
        }
        // What is set by hand must earn it. Of each candidate the best: variants of one must not crowd the others out.
        std::ranges::stable_sort(field, {}, [](const variant& v) { return v.chosen == parameters{} ? v.seconds : 1.02 * v.seconds; });
        std::vector<variant> last{first};
        for (const variant& v : field) {
            const bool is_first = v.candidate == 0 && v.chosen == parameters{};
            const auto same = [&](const variant& other) { return other.candidate == v.candidate; };
            if (!is_first && last.size() <= finalists && std::ranges::none_of(view(last).subspan(1), same)) { last.push_back(v); }
        }
        // Among so many tries the best is the best by luck, too: the best few are timed once more. And never slower than
        // unscheduled: what is not faster when it comes to it is not taken.
        if (last.size() > 1) { time(last, seconds); }
        return {*std::ranges::min_element(last, {}, &variant::seconds), last[0].seconds};
    }

  private:
    static constexpr std::size_t finalists = 4;

    /// The first candidate, then the others that are timed.
    [[nodiscard]] std::vector<variant> best_by_model(const machine& model, int measured, double seconds) const
    {
        std::vector<variant> field;
        for (std::size_t i = 1; i < candidates_.size(); ++i) { field.push_back({i, {}, predicted(candidates_[i].image, sizes_, model)}); }
        std::ranges::stable_sort(field, {}, &variant::seconds);
        std::size_t timed = 0;
        for (double total = 0; timed < field.size(); ++timed) {
            total += 2 * fewest_turns * std::max(field[timed].seconds, shortest_turn);
            if (timed >= static_cast<std::size_t>(std::max(measured, 1)) && !(total <= seconds)) { break; }
        }
        field.resize(timed);
        field.insert(field.begin(), variant{});
        return field;
    }
    /// Of the best three, as far as they are near the best.
    [[nodiscard]] std::vector<variant> variants_of_the_best(std::vector<variant> field) const
    {
        constexpr bool on_host = runner_t<Communicator>::always_agrees;
        std::ranges::stable_sort(field, {}, &variant::seconds);
        std::vector<variant> open;
        for (std::size_t i = 0; i < std::min<std::size_t>(3, field.size()) && field[i].seconds <= 1.25 * field[0].seconds; ++i) {
            add_variants(open, field[i], candidates_[field[i].candidate].image, sizes_, on_host);
        }
        return open;
    }
    void time(view<variant> field, double seconds) const
    {
        std::vector<racer<Communicator>> sides;
        for (const variant& v : field) { sides.push_back({&candidates_[v.candidate].executable_on(comm_), v.chosen}); }
        const std::vector<double> times = race<Communicator>(comm_, sides, bindings_, seconds);
        for (std::size_t i = 0; i < field.size(); ++i) { field[i].seconds = times[i]; }
    }

    Communicator& comm_;
    std::vector<candidate<Communicator>>& candidates_;
    view<const binding> bindings_;
    const arguments& sizes_;
};

}  // namespace plait::detail
