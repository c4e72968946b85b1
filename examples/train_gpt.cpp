// Trains a small GPT on any text, data-parallel: forward and backward are written by hand in gpt/, the optimizer is a
// scheduled plait program. Runs can be stopped, saved, and resumed with another number of ranks.
#include "gpt/counting.hpp"
#include "gpt/memory.hpp"
#include "gpt/options.hpp"
#include "gpt/train.hpp"
#include "gpt/write.hpp"
#include "support/bigram.hpp"
#include "support/corpus.hpp"
#include "support/counted.hpp"
#include "support/failure.hpp"
#include "support/main.hpp"
#include "support/sample.hpp"

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace gpt {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

/// The first Ctrl-C lets the step end and saves; a second one ends the program as usual.
void save_on_interrupt()
{
    std::signal(SIGINT, [](int signal) {
        interrupted = true;
        std::signal(signal, SIG_DFL);
    });
}

std::string text_to_learn(const options& chosen)
{
    if (chosen.data) { return demo::read_file(*chosen.data); }
    std::vector<std::filesystem::path> folders;
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) { folders.push_back(program.parent_path()); }
#if defined(PLAIT_SOURCE_DIR)
    folders.emplace_back(PLAIT_SOURCE_DIR);
#endif
    return demo::read_documentation(folders);
}

void show_plan(const options& chosen, const checkpoint& state, const demo::corpus& text)
{
    const training_settings& s = state.settings;
    std::printf(
        "%s (%s) %s to predict every byte of %s, %zu bytes, from up to %zu before it.\n"
        "Each has a replica of a transformer of %s, width %zu and %s, %zu parameters in all, and\n"
        "computes the gradient of its share of every batch of %llu windows; plait's %s program (%s) averages\n"
        "the gradients and takes the step. A tenth of the text is held out; there, one gets to %.3f nats/byte by\n"
        "counting bytes, and to %.3f by counting pairs of bytes.\n",
        demo::counted(static_cast<std::size_t>(chosen.ranks), "rank").c_str(), chosen.ranks == 1 ? "a thread" : "threads",
        chosen.ranks == 1 ? "learns" : "learn", chosen.data ? chosen.data->c_str() : "plait's documentation", text.bytes(), s.shape.context,
        demo::counted(s.shape.layers, "layer").c_str(), s.shape.width, demo::counted(s.shape.heads, "head").c_str(), state.parameters.size(), static_cast<unsigned long long>(s.batch),
        name(s.optimizer).data(), name(chosen.schedule).data(), unigram_loss(text), demo::bigram_loss(text));
    if (state.step > 0) {
        std::printf("Goes on from %s, after %llu steps.\n", chosen.resume->c_str(),
                    static_cast<unsigned long long>(state.step));
    }
    std::printf("\n");
    std::fflush(stdout);
}

void show_sample(const options& chosen, const demo::corpus& text, const checkpoint& learnt)
{
    const std::span<const char> window = text.held_out(0).first(text.context());
    const std::string prompt(window.begin(), window.end());
    transformer<float> model(learnt.settings.shape);
    const std::string written = write_text(model, learnt.parameters, prompt, static_cast<std::size_t>(chosen.sample),
                                           0.6, learnt.settings.seed + 2);
    std::printf("\nThe model continues the held-out \"%s\":\n%s\n", demo::printable(prompt).c_str(),
                demo::printable(written).c_str());
}

void run(const options& chosen)
{
    checkpoint state;
    if (chosen.resume) {
        state = load_checkpoint(*chosen.resume);
        state.settings = resumed_settings(chosen, state.settings);
    } else {
        state.settings = new_settings(chosen);
    }
    check_steps_left(chosen, state.settings, state.step);
    check_memory(state.settings, chosen.ranks);
    if (chosen.save) { check_can_save(*chosen.save); }
    const demo::corpus text(text_to_learn(chosen), state.settings.shape.context);
    if (!chosen.resume) { state = first_checkpoint(state.settings); }
    show_plan(chosen, state, text);

    execution how;
    how.ranks = chosen.ranks;
    how.schedule = chosen.schedule;
    how.stop_at = chosen.stop_at;
    how.seconds = chosen.seconds;
    how.save = chosen.save;
    how.save_every = chosen.save_every;
    how.report_to = stdout;
    if (chosen.save) {
        how.interrupted = &interrupted;
        save_on_interrupt();
    }
    const std::uint64_t before = state.step;
    const outcome result = train(state, how, text);

    const double bytes = static_cast<double>((state.step - before) * state.settings.batch * text.context());
    std::printf("%.0f bytes a second", bytes / result.seconds);
    if (state.step < state.settings.steps) {
        std::printf("; stopped after step %llu of %llu", static_cast<unsigned long long>(state.step),
                    static_cast<unsigned long long>(state.settings.steps));
    }
    if (chosen.save) { std::printf("; saved in %s", chosen.save->c_str()); }
    std::printf("\n");
    if (chosen.sample > 0 && !interrupted) { show_sample(chosen, text, state); }
}

}  // namespace
}  // namespace gpt

int main(int argument_count, char** arguments)
{
    return demo::main_of("train_gpt", argument_count, arguments, "a smaller --batch, --context or --width",
                         gpt::parse_options, [] { std::fputs(gpt::usage_text.data(), stdout); }, gpt::run);
}
