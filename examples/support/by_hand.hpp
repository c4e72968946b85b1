// Adam and LAMB as plain loops: what the scheduled programs are measured against.
#pragma once

#include "byte_model.hpp"
#include "optimizer.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace demo {

struct optimizer_settings {
    float decay_mean = 0.9F;      ///< of the running mean of gradients
    float decay_square = 0.99F;   ///< of the running mean of their squares
    float epsilon = 1e-8F;        ///< added to the root of the latter
    float weight_decay = 0.01F;   ///< LAMB only
};

/// All-reduce, then Adam (Kingma and Ba, 2015) or LAMB (You et al., 2020) on whole tensors.
class by_hand final : public optimizer {
  public:
    by_hand(bool lamb, std::span<const parameter_tensor> tensors, optimizer_settings settings = {})
        : lamb_(lamb), tensors_(tensors.begin(), tensors.end()), settings_(settings)
    {
        const std::size_t n = tensors_.back().offset + tensors_.back().size();
        average_.resize(n);
        mean_.resize(n);
        square_.resize(n);
    }

    void step(plait::thread_communicator& comm, std::span<const float> gradient, std::span<float> parameters,
              float learning_rate) override
    {
        average(comm, gradient);
        power_mean_ *= settings_.decay_mean;
        power_square_ *= settings_.decay_square;
        const float b1 = settings_.decay_mean;
        const float b2 = settings_.decay_square;
        for (std::size_t i = 0; i < average_.size(); ++i) {
            const float g = average_[i];
            mean_[i] = b1 * mean_[i] + (1 - b1) * g;
            square_[i] = b2 * square_[i] + (1 - b2) * g * g;
        }
        for (const parameter_tensor& tensor : tensors_) { update(tensor, parameters, learning_rate); }
    }

  private:
    void average(plait::thread_communicator& comm, std::span<const float> gradient)
    {
        const float* mine = gradient.data();
        const std::span<const void* const> all = comm.exchange(&mine, sizeof mine, "gradients");
        const float share = 1 / static_cast<float>(comm.size());
        for (std::size_t i = 0; i < average_.size(); ++i) { average_[i] = 0; }
        for (const void* record : all) {
            const float* theirs = *static_cast<const float* const*>(record);
            for (std::size_t i = 0; i < average_.size(); ++i) { average_[i] += theirs[i]; }
        }
        for (std::size_t i = 0; i < average_.size(); ++i) { average_[i] *= share; }
        comm.barrier("gradients have been read");
    }

    void update(const parameter_tensor& tensor, std::span<float> parameters, float learning_rate)
    {
        const float c1 = 1 - power_mean_;
        const float c2 = 1 - power_square_;
        const float decay = lamb_ ? settings_.weight_decay : 0;
        float* r = average_.data();  // the averages have been used
        double norm_p = 0;
        double norm_r = 0;
        for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size(); ++i) {
            r[i] = mean_[i] / c1 / (std::sqrt(square_[i] / c2) + settings_.epsilon) + decay * parameters[i];
            if (lamb_) {
                norm_p += static_cast<double>(parameters[i]) * static_cast<double>(parameters[i]);
                norm_r += static_cast<double>(r[i]) * static_cast<double>(r[i]);
            }
        }
        const double ratio = lamb_ && norm_p > 0 && norm_r > 0 ? std::sqrt(norm_p / norm_r) : 1;
        const float rate = learning_rate * static_cast<float>(ratio);
        for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size(); ++i) { parameters[i] -= rate * r[i]; }
    }

    bool lamb_;
    std::vector<parameter_tensor> tensors_;
    optimizer_settings settings_;
    std::vector<float> average_, mean_, square_;
    float power_mean_ = 1;
    float power_square_ = 1;
};

}  // namespace demo
