// The demo's optimizer: a scheduled plait program.
#pragma once

#include "by_hand.hpp"

#include <plait/plait.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace demo {

/// Adam or LAMB as one kernel: reduce-scatter, the step on this rank's slice, all-gather. The rank stores its slices of
/// the running means alone.
template <class Program>
class scheduled final : public optimizer {
  public:
    scheduled(plait::thread_communicator& comm, std::span<const parameter_tensor> tensors,
              optimizer_settings settings = {})
        : run_(Program::fused, comm), settings_(settings)
    {
        std::int64_t n = 0;
        for (const parameter_tensor& tensor : tensors) {
            counts_.push_back(static_cast<std::int64_t>(tensor.size()));
            n += counts_.back();
        }
        const auto part = static_cast<std::size_t>(plait::slice_of(n, comm.rank(), comm.size()).count);
        mean_.resize(part);
        square_.resize(part);
    }

    void step(plait::thread_communicator& /*comm*/, std::span<const float> gradient, std::span<float> parameters,
              float learning_rate) override
    {
        ++steps_;
        using p = Program;
        // [demo-step]
        std::vector<plait::binding> bindings{p::g = gradient,
                                             p::p = parameters,
                                             p::m = mean_,
                                             p::v = square_,
                                             p::lr = learning_rate,
                                             p::beta1 = settings_.decay_mean,
                                             p::beta2 = settings_.decay_square,
                                             p::eps = settings_.epsilon,
                                             p::c1 = plait::optim::bias_correction(settings_.decay_mean, steps_),
                                             p::c2 = plait::optim::bias_correction(settings_.decay_square, steps_)};
        // [/demo-step]
        if constexpr (requires { p::weight_decay; }) {  // LAMB, with a norm per tensor
            bindings.push_back(p::weight_decay = settings_.weight_decay);
            bindings.push_back(p::N = plait::partition{counts_});
        }
        run_.run(bindings);
    }

  private:
    plait::executable<plait::thread_communicator> run_;
    optimizer_settings settings_;
    std::vector<std::int64_t> counts_;
    std::vector<float> mean_, square_;
    std::int64_t steps_ = 0;
};

}  // namespace demo
