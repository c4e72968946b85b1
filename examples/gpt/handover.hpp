// What travels between pipeline groups: one plait program on all of them.
#pragma once

#include "stage.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gpt {

/// The meeting of all ranks of all groups between two ticks. `Communicator` is that of all ranks.
template <class Communicator>
class handover {
  public:
    handover(Communicator& comm, int groups, stage_schedule schedule)
        : group_(comm.rank() / (comm.size() / groups)), groups_(groups), run_(make(comm, groups, schedule))
    {
    }

    /// Each group's micro-batch of this tick; `stage` and `drawn` are this rank's. On return `stage` has what comes in,
    /// and the first group's ranks have the bytes that the last group's drew in `back`.
    void run(const std::array<micro_batch, most_groups>& ticks, pipeline_stage<Communicator>& stage, std::size_t width,
             std::span<std::int32_t> drawn, std::span<std::int32_t> back)
    {
        const micro_batch& last = ticks[static_cast<std::size_t>(groups_ - 1)];
        given_.assign({stage::H = width, stage::T = last.texts});
        for_each_group([&]<int G>() {
            if constexpr (G > 0) {
                if (G == groups_ - 1 && group_ == G) { given_.push_back(stage::handover<G + 1>::drawn = drawn); }
            }
            if (G == groups_ - 1) { return; }
            if constexpr (G + 1 < most_groups) {
                using p = stage::handed_on<G>;
                const micro_batch& own = ticks[G];
                given_.push_back(p::rows = own.all_rows());
                if (group_ == G) {
                    given_.push_back(p::part = stage.partial(own));
                    given_.push_back(p::residual = stage.stream(own));
                    given_.push_back(p::bias = stage.bias());
                }
                if (group_ == G + 1) { given_.push_back(p::to = stage.incoming(own)); }
            }
        });
        if (group_ == 0) { given_.push_back(stage::handover<2>::back = back); }
        run_.run(given_);
        if (group_ > 0) { stage.arrived(ticks[static_cast<std::size_t>(group_ - 1)]); }
    }

  private:
    template <class Use>
    void for_each_group(Use&& use) const
    {
        [&]<int... G>(std::integer_sequence<int, G...>)
        {
            ((G < groups_ ? use.template operator()<G>() : void()), ...);
        }
        (std::make_integer_sequence<int, most_groups>{});
    }

    template <int Groups = 2>
    static plait::executable<Communicator> make(Communicator& comm, int groups, stage_schedule schedule)
    {
        if constexpr (Groups < most_groups) {
            if (groups > Groups) { return make<Groups + 1>(comm, groups, schedule); }
        }
        return executable_of<stage::handover<Groups>>(comm, schedule);
    }

    int group_;
    int groups_;
    plait::executable<Communicator> run_;
    std::vector<plait::binding> given_;
};

}  // namespace gpt
