// What the demo asks of an optimizer.
#pragma once

#include <plait/fabric/threads.hpp>

#include <span>

namespace demo {

/// One rank's part of the optimizer, with its state.
class optimizer {
  public:
    virtual ~optimizer() = default;

    /// Averages the gradients of all ranks and updates the parameters, which are, and stay, the same on every rank.
    /// All ranks call it together; when it returns, `gradient` may be overwritten.
    virtual void step(plait::thread_communicator& comm, std::span<const float> gradient, std::span<float> parameters,
                      float learning_rate) = 0;
};

}  // namespace demo
