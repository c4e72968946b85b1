// Trains a small language model on plait's documentation, data-parallel: each rank computes the gradient of its share of
// a batch, and one scheduled plait program sums the gradients and updates the parameters. Then the model writes.
#include "support/bigram.hpp"
#include "support/byte_model.hpp"
#include "support/compare.hpp"
#include "support/corpus.hpp"
#include "support/counted.hpp"
#include "support/failure.hpp"
#include "support/main.hpp"
#include "support/optimizer.hpp"
#include "support/options.hpp"
#include "support/progress.hpp"
#include "support/report.hpp"
#include "support/sample.hpp"
#include "support/scheduled.hpp"

#include <plait/core/philox.hpp>
#include <plait/fabric/threads.hpp>

#include <atomic>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace demo {
namespace {

std::unique_ptr<optimizer> make_optimizer(plait::thread_communicator& comm, optimizer_kind kind,
                                          std::span<const parameter_tensor> tensors)
{
    if (kind == optimizer_kind::lamb) { return std::make_unique<scheduled<plait::optim::lamb<>>>(comm, tensors); }
    return std::make_unique<scheduled<plait::optim::adam<>>>(comm, tensors);
}

/// Rises over the first twentieth of the steps, then falls along half a cosine to a fiftieth of the peak.
float learning_rate(optimizer_kind kind, int step, int steps)
{
    const double peak = kind == optimizer_kind::adam ? 2e-3 : 1e-2;
    const double warm_up = 0.05 * steps;
    const double falling = 0.5 * (1 + std::cos(std::numbers::pi * step / steps));
    return static_cast<float>(peak * std::min((step + 1) / warm_up, 0.02 + 0.98 * falling));
}

/// A rank's part of `all` items: [first, last).
struct share {
    std::size_t first;
    std::size_t last;
};

share share_of(std::size_t all, const plait::thread_communicator& comm)
{
    const auto part = [&](int r) { return all * static_cast<std::size_t>(r) / static_cast<std::size_t>(comm.size()); };
    return {part(comm.rank()), part(comm.rank() + 1)};
}

/// The rank's share of the windows that step `step` learns from, drawn at random. The draw does not depend on the number
/// of ranks.
void draw_batch(const corpus& text, const options& chosen, int step, share mine, std::vector<std::uint8_t>& windows)
{
    windows.clear();
    for (std::size_t i = mine.first; i < mine.last; ++i) {
        const std::uint64_t index = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(chosen.batch) + i;
        const std::uint64_t random = plait::philox_u32(chosen.seed + 1, index);
        const std::span<const char> window = text.train(random * text.train_windows() >> 32U);
        windows.insert(windows.end(), window.begin(), window.end());
    }
}

/// The rank's share of at most `most` held-out windows, evenly spaced.
std::vector<std::uint8_t> held_out_windows(const corpus& text, std::size_t most, const plait::thread_communicator& comm)
{
    const std::size_t count = std::min(most, text.held_out_windows());
    const share mine = share_of(count, comm);
    std::vector<std::uint8_t> windows;
    for (std::size_t i = mine.first; i < mine.last; ++i) {
        const std::span<const char> window = text.held_out(i * text.held_out_windows() / count);
        windows.insert(windows.end(), window.begin(), window.end());
    }
    return windows;
}

/// The sum of what every rank gives, added in rank order: the same bits on every rank.
double sum_over_ranks(plait::thread_communicator& comm, double mine)
{
    double sum = 0;
    for (const void* theirs : comm.exchange(&mine, sizeof mine, "losses")) { sum += *static_cast<const double*>(theirs); }
    comm.barrier("losses have been read");
    return sum;
}

struct outcome {
    std::vector<float> parameters;
    int steps = 0;
    double seconds = 0;
    double train = 0;     // nats per byte, since the report before the last
    double held_out = 0;  // nats per byte
};

/// What every rank does. Returns what the rank has learnt, which is the same on all ranks.
outcome train_rank(plait::thread_communicator& comm, const options& chosen, const corpus& text, model_shape shape,
                   std::atomic<int>& stop)
{
    constexpr std::size_t held_out_count = 2048;
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };

    byte_model<float> model(shape);
    outcome result;
    result.parameters.resize(model.parameter_count());
    model.initialise(result.parameters, chosen.seed);
    std::vector<float> gradient(model.parameter_count());
    const std::unique_ptr<optimizer> optimizer = make_optimizer(comm, chosen.optimizer, model.tensors());

    const std::size_t batch = static_cast<std::size_t>(chosen.batch);
    const share mine = share_of(batch, comm);
    const std::vector<std::uint8_t> held_out = held_out_windows(text, held_out_count, comm);
    const double held_out_total = static_cast<double>(std::min(held_out_count, text.held_out_windows()));
    // The ranks' gradients are averaged: with this weight, the average is the gradient of the mean loss.
    const float weight = static_cast<float>(comm.size()) / static_cast<float>(batch);

    progress bar(stdout, chosen.steps, 10);
    const int report_every = std::max(1, chosen.steps / 40);
    std::vector<std::uint8_t> windows;
    double loss = 0;
    int losses = 0;
    for (int step = 0; step < stop; ++step) {
        draw_batch(text, chosen, step, mine, windows);
        loss += model.loss_and_gradient(result.parameters, windows, weight, gradient);
        losses += chosen.batch;

        // Rank 0 alone decides by the clock. It does so before this step's meeting, for after this step: all ranks know.
        if (comm.rank() == 0 && chosen.seconds > 0 && seconds() > chosen.seconds) { stop = step + 1; }
        optimizer->step(comm, gradient, result.parameters, learning_rate(chosen.optimizer, step, chosen.steps));

        result.steps = step + 1;
        const bool last = result.steps == stop;
        if (result.steps % report_every == 0 || last) {
            result.train = sum_over_ranks(comm, loss) / losses;
            result.held_out = sum_over_ranks(comm, model.loss(result.parameters, held_out)) / held_out_total;
            result.seconds = seconds();
            if (comm.rank() == 0) { bar.show(result.steps, result.train, result.held_out, result.seconds, last); }
            loss = losses = 0;
        }
    }
    return result;
}

outcome train(const options& chosen, const corpus& text, model_shape shape)
{
    std::atomic<int> stop = chosen.steps;
    outcome result;
    plait::threads::run(chosen.ranks, [&](plait::thread_communicator& comm) {
        outcome own = train_rank(comm, chosen, text, shape, stop);
        if (comm.rank() == 0) { result = std::move(own); }
    });
    return result;
}

std::string text_to_learn(const options& chosen)
{
    if (chosen.text) { return read_file(*chosen.text); }
    std::vector<std::filesystem::path> folders;
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) { folders.push_back(program.parent_path()); }
#if defined(PLAIT_SOURCE_DIR)
    folders.emplace_back(PLAIT_SOURCE_DIR);
#endif
    return read_documentation(folders);
}

void show_sample(const options& chosen, const corpus& text, model_shape shape, const outcome& learnt)
{
    const std::span<const char> prompt = text.held_out(0).first(shape.context);
    byte_model<float> model(shape);
    const std::string written = write_text(model, learnt.parameters, {prompt.data(), prompt.size()},
                                           static_cast<std::size_t>(chosen.sample), 0.6, chosen.seed + 2);
    std::printf("\nThe model continues the held-out \"%s\":\n%s\n", printable({prompt.data(), prompt.size()}).c_str(),
                printable(written).c_str());
}

void run(const options& chosen)
{
    if (chosen.report) { return write_report(*chosen.report, chosen.ranks); }
    model_shape shape;
    shape.context = static_cast<std::size_t>(chosen.context);
    shape.hidden = static_cast<std::size_t>(chosen.hidden);
    const corpus text(text_to_learn(chosen), shape.context);
    std::printf("%s (%s) %s to predict the next byte of %s, %zu bytes, from the %d before it. Each has a\n"
                "replica of a network with two hidden layers of %d units, %zu parameters in all, and computes the\n"
                "gradient of its share of every batch of %d; a plait program then averages the gradients and takes\n"
                "the %s step. A tenth of the text is held out; by counting pairs of bytes one gets to %.3f nats/byte.\n\n",
                counted(static_cast<std::size_t>(chosen.ranks), "rank").c_str(), chosen.ranks == 1 ? "a thread" : "threads",
                chosen.ranks == 1 ? "learns" : "learn", chosen.text ? chosen.text->c_str() : "plait's documentation", text.bytes(), chosen.context,
                chosen.hidden, byte_model<float>(shape).parameter_count(), chosen.batch, name(chosen.optimizer).data(),
                bigram_loss(text));
    std::fflush(stdout);

    const outcome learnt = train(chosen, text, shape);
    if (learnt.steps < chosen.steps) {
        std::printf("stopped after %d s, before step %d (--seconds)\n", chosen.seconds, chosen.steps);
    }
    if (chosen.sample > 0) { show_sample(chosen, text, shape, learnt); }
    if (chosen.table) { print_comparison(chosen.ranks); }
}

}  // namespace
}  // namespace demo

int main(int argument_count, char** arguments)
{
    return demo::main_of("demo", argument_count, arguments, nullptr, demo::parse_options,
                         [] { std::fputs(demo::usage_text.data(), stdout); }, demo::run);
}
