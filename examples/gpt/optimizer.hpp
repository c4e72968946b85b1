// The optimizer: plait's AdamW or LAMB under the schedule of choice, and its state in global order.
#pragma once

#include "../support/by_hand.hpp"
#include "settings.hpp"

#include <plait/plait.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpt {

/// One rank's part of the optimizer. Gradients are clipped to a norm of 1.
class sharded_optimizer {
  public:
    sharded_optimizer(plait::thread_communicator& comm, optimizer_kind kind, schedule_kind schedule,
                      std::span<const tensor_place> tensors)
        : run_(make(comm, kind, schedule)), kind_(kind), rank_(comm.rank())
    {
        std::int64_t n = 0;
        for (const tensor_place& tensor : tensors) {
            counts_.push_back(static_cast<std::int64_t>(tensor.size()));
            n += counts_.back();
        }
        whole_ = schedule == schedule_kind::unscheduled;
        part_ = whole_ ? plait::slice_range{0, n} : plait::slice_of(n, comm.rank(), comm.size());
        mean_.resize(static_cast<std::size_t>(part_.count));
        square_.resize(mean_.size());
    }

    /// Averages the gradients of all ranks and updates the parameters, which are, and stay, the same on every rank.
    /// All ranks call it together; when it returns, `gradient` may be overwritten.
    void step(std::span<const float> gradient, std::span<float> parameters, float learning_rate)
    {
        ++steps_;
        using p = lamb;  // AdamW's tensors and scalars have the same names
        // [train-step]
        std::vector<plait::binding> bindings{p::g = gradient,
                                             p::p = parameters,
                                             p::m = mean_,
                                             p::v = square_,
                                             p::lr = learning_rate,
                                             p::beta1 = settings_.decay_mean,
                                             p::beta2 = settings_.decay_square,
                                             p::eps = settings_.epsilon,
                                             p::weight_decay = settings_.weight_decay,
                                             p::c1 = plait::optim::bias_correction(settings_.decay_mean, steps_),
                                             p::c2 = plait::optim::bias_correction(settings_.decay_square, steps_),
                                             plait::optim::max_norm = 1.0F};
        // [/train-step]
        if (kind_ == optimizer_kind::lamb) { bindings.push_back(p::N = plait::partition{counts_}); }
        run_.run(bindings);
    }

    /// Goes on from the state of all parameters after `steps` steps.
    void take_state(std::uint64_t steps, std::span<const float> mean, std::span<const float> square)
    {
        steps_ = static_cast<std::int64_t>(steps);
        std::ranges::copy(mean.subspan(begin(), mean_.size()), mean_.begin());
        std::ranges::copy(square.subspan(begin(), square_.size()), square_.begin());
    }

    /// Writes this rank's part into the state of all parameters. The ranks' parts do not overlap.
    void give_state(std::span<float> mean, std::span<float> square) const
    {
        if (whole_ && rank_ != 0) { return; }
        std::ranges::copy(mean_, mean.subspan(begin()).begin());
        std::ranges::copy(square_, square.subspan(begin()).begin());
    }

  private:
    static constexpr plait::optim::options clipped{.scale = false, .clip = true};
    using adamw = plait::optim::adamw<float, float, clipped>;
    using lamb = plait::optim::lamb<float, float, clipped>;

    static plait::executable<plait::thread_communicator> make(plait::thread_communicator& comm, optimizer_kind kind,
                                                              schedule_kind schedule)
    {
        const bool is_lamb = kind == optimizer_kind::lamb;
        switch (schedule) {
        case schedule_kind::unscheduled:
            if (is_lamb) { return {lamb::unscheduled, comm}; }
            return {adamw::unscheduled, comm};
        case schedule_kind::sliced:
            if (is_lamb) { return {lamb::sliced, comm}; }
            return {adamw::sliced, comm};
        case schedule_kind::fused: break;
        }
        if (is_lamb) { return {lamb::fused, comm}; }
        return {adamw::fused, comm};
    }

    std::size_t begin() const { return static_cast<std::size_t>(part_.begin); }

    plait::executable<plait::thread_communicator> run_;
    optimizer_kind kind_;
    int rank_;
    bool whole_ = false;
    demo::optimizer_settings settings_;
    std::vector<std::int64_t> counts_;
    plait::slice_range part_;
    std::vector<float> mean_, square_;
    std::int64_t steps_ = 0;
};

}  // namespace gpt
