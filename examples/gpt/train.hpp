// Data-parallel training: each rank computes the gradient of its share of every batch, the optimizer does the rest.
#pragma once

#include "../support/corpus.hpp"
#include "../support/progress.hpp"
#include "checkpoint.hpp"
#include "optimizer.hpp"
#include "transformer.hpp"

#include <plait/core/philox.hpp>
#include <plait/fabric/threads.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpt {

/// How a run is executed. It changes what is learnt in the last bits at most.
struct execution {
    int ranks = 2;
    schedule_kind schedule = schedule_kind::fused;
    std::uint64_t stop_at = 0;                       ///< stop after this step; 0 does all
    int seconds = 0;                                 ///< stop after so many; 0 is no limit
    const std::atomic<bool>* interrupted = nullptr;  ///< stop when it becomes true
    std::optional<std::string> save;                 ///< where checkpoints go
    std::uint64_t save_every = 0;                    ///< steps; 0 saves at the end alone
    std::FILE* report_to = nullptr;                  ///< shows progress there
};

struct outcome {
    std::vector<double> losses;  ///< of each step's batch, before the step, in nats per byte
    double train = 0;            ///< their mean since the last report but one
    double held_out = 0;         ///< nats per byte
    double seconds = 0;
};

/// A rank's part of `all` items: [first, last).
struct share {
    std::size_t first;
    std::size_t last;
};

inline share share_of(std::size_t all, const plait::thread_communicator& comm)
{
    const auto part = [&](int r) { return all * static_cast<std::size_t>(r) / static_cast<std::size_t>(comm.size()); };
    return {part(comm.rank()), part(comm.rank() + 1)};
}

inline void append(std::vector<std::uint8_t>& windows, std::span<const char> window)
{
    windows.insert(windows.end(), window.begin(), window.end());
}

/// Windows [which.first, which.last) of the batch of a step, drawn at random: a function of seed, step and the window's
/// number in the batch, however many ranks there are.
inline void draw_batch(const demo::corpus& text, const training_settings& settings, std::uint64_t step, share which,
                       std::vector<std::uint8_t>& windows)
{
    windows.clear();
    for (std::size_t b = which.first; b < which.last; ++b) {
        const std::uint64_t random = plait::philox_u32(~settings.seed, step * settings.batch + b);
        append(windows, text.train(random * text.train_windows() >> 32U));
    }
}

/// One rank, with its replica of the model and its part of the optimizer's state.
class training_rank {
  public:
    training_rank(plait::thread_communicator& comm, const demo::corpus& text, const execution& how, checkpoint& state)
        : comm_(comm),
          text_(text),
          how_(how),
          state_(state),
          settings_(state.settings),
          model_(settings_.shape),
          optimizer_(comm, settings_.optimizer, how.schedule, model_.layout().tensors()),
          parameters_(state.parameters),
          gradient_(parameters_.size()),
          mine_(share_of(settings_.batch, comm))
    {
        optimizer_.take_state(state.step, state.mean, state.square);
        const std::size_t count = std::min<std::size_t>(text.held_out_windows(), 64);
        held_out_bytes_ = static_cast<double>(count * settings_.shape.context);
        const share part = share_of(count, comm);
        for (std::size_t i = part.first; i < part.last; ++i) {
            append(held_out_, text.held_out(i * text.held_out_windows() / count));
        }
    }

    /// Trains until `stop` or until rank 0 lowers it.
    outcome run(std::atomic<std::uint64_t>& stop)
    {
        const auto start = std::chrono::steady_clock::now();
        const std::uint64_t report_every = std::max<std::uint64_t>(1, settings_.steps / 40);
        std::optional<demo::progress> bar;
        if (how_.report_to != nullptr && comm_.rank() == 0) {
            bar.emplace(how_.report_to, static_cast<int>(settings_.steps), 10);
        }
        outcome result;
        std::size_t reported = 0;
        for (std::uint64_t step = state_.step; step < stop;) {
            const double loss = batch_loss(step);
            const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            // Rank 0 alone decides, before this step's meeting, for after this step: all ranks know.
            if (comm_.rank() == 0 && must_stop(seconds)) { stop = step + 1; }
            result.losses.push_back(
                mean_over_ranks(loss, static_cast<double>(settings_.batch * settings_.shape.context)));
            check_finite(result.losses.back(), step);
            optimizer_.step(gradient_, parameters_, learning_rate(settings_, step));

            const bool last = ++step == stop;
            if (last || (how_.report_to != nullptr && step % report_every == 0)) {
                double sum = 0;
                for (std::size_t i = reported; i < result.losses.size(); ++i) { sum += result.losses[i]; }
                result.train = sum / static_cast<double>(result.losses.size() - reported);
                reported = result.losses.size();
                result.held_out = mean_over_ranks(held_out_loss(), held_out_bytes_);
                result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
                check_finite(result.held_out, step);
                if (bar) { bar->show(static_cast<int>(step), result.train, result.held_out, result.seconds, last); }
            }
            if (last || (how_.save_every > 0 && step % how_.save_every == 0)) { save(step); }
        }
        return result;
    }

  private:
    /// The sum over this rank's share of a step's batch; leaves the gradient.
    double batch_loss(std::uint64_t step)
    {
        draw_batch(text_, settings_, step, mine_, windows_);
        // The ranks' gradients are averaged: with this weight, the average is the gradient of the batch's mean loss.
        const double weight = comm_.size() / static_cast<double>(settings_.batch * settings_.shape.context);
        return model_.loss_and_gradient(parameters_, windows_, static_cast<float>(weight), gradient_);
    }

    /// The sum over this rank's share of the held-out windows, a share of a batch at a time.
    double held_out_loss()
    {
        const std::size_t window = settings_.shape.context + 1;
        const std::size_t at_once = std::max<std::size_t>(1, mine_.last - mine_.first) * window;
        double sum = 0;
        for (std::size_t i = 0; i < held_out_.size(); i += at_once) {
            sum += model_.loss(parameters_, std::span(held_out_).subspan(i, std::min(at_once, held_out_.size() - i)));
        }
        return sum;
    }

    bool must_stop(double seconds) const
    {
        return (how_.seconds > 0 && seconds > how_.seconds) || (how_.interrupted != nullptr && *how_.interrupted);
    }

    /// What all ranks give, added in rank order, over `n`: the same bits on every rank.
    double mean_over_ranks(double mine, double n)
    {
        double sum = 0;
        for (const void* theirs : comm_.exchange(&mine, sizeof mine, "losses")) {
            sum += *static_cast<const double*>(theirs);
        }
        comm_.barrier("losses have been read");
        return sum / n;
    }

    static void check_finite(double loss, std::uint64_t step)
    {
        if (std::isfinite(loss)) { return; }
        throw demo::failure(
            1, "the loss is no longer a number at step " + std::to_string(step) + ": a lower --lr may help");
    }

    /// Brings the ranks' parts together in the checkpoint, and writes it where one is wanted.
    void save(std::uint64_t step)
    {
        optimizer_.give_state(state_.mean, state_.square);
        comm_.barrier("the state is together");
        if (comm_.rank() != 0) { return; }  // others touch the checkpoint again only after rank 0's next step
        state_.step = step;
        state_.parameters = parameters_;
        if (how_.save) { save_checkpoint(state_, *how_.save); }
    }

    plait::thread_communicator& comm_;
    const demo::corpus& text_;
    const execution& how_;
    checkpoint& state_;
    const training_settings settings_;
    transformer<float> model_;
    sharded_optimizer optimizer_;
    std::vector<float> parameters_, gradient_;
    share mine_;
    std::vector<std::uint8_t> windows_, held_out_;
    double held_out_bytes_ = 0;
};

/// Goes on from `state` and leaves there what was learnt. Its settings' context is the corpus's.
inline outcome train(checkpoint& state, const execution& how, const demo::corpus& text)
{
    std::atomic<std::uint64_t> stop = state.settings.steps;
    if (how.stop_at > 0) { stop = std::min(how.stop_at, state.settings.steps); }
    outcome result;
    plait::threads::run(
        how.ranks,
        [&](plait::thread_communicator& comm) {
            training_rank rank(comm, text, how, state);
            comm.barrier("all have read the checkpoint");
            outcome own = rank.run(stop);
            if (comm.rank() == 0) { result = std::move(own); }
        },
        std::chrono::minutes(10));  // a large model's ranks may wait long for each other
    return result;
}

}  // namespace gpt
