// Text generation with pipeline and tensor parallelism, in micro-batches.
#pragma once

#include "draw.hpp"
#include "handover.hpp"
#include "stage.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpt {

/// What is to be written: `batch` texts of `length` bytes that all continue one prompt, each with random numbers of its
/// own.
struct writing {
    std::string prompt;  ///< where it is empty, the texts begin as after a newline
    std::size_t batch = 1;
    std::size_t length = 1;
    double temperature = 0.6;  ///< 0: always the likeliest byte
    std::uint64_t seed = 1;

    std::string_view start() const { return prompt.empty() ? std::string_view("\n") : std::string_view(prompt); }
};

/// Where the window begins that the model sees of a text of `length` bytes. A text that outgrows the context leaves
/// half a context behind at once: positions in the window change then, and all keys and values are computed anew.
inline std::size_t window_start(std::size_t length, std::size_t context)
{
    if (length <= context) { return 0; }
    const std::size_t step = std::max<std::size_t>(1, context / 2);
    return (length - context + step - 1) / step * step;
}

/// Part `i` of `n` of a batch: its first text and how many; the first parts have one more where they do not divide.
inline micro_batch micro_batch_of(std::size_t batch, std::size_t i, std::size_t n)
{
    micro_batch result;
    result.first_text = i * (batch / n) + std::min(i, batch % n);
    result.texts = batch / n + (i < batch % n ? 1 : 0);
    return result;
}

/// Which micro-batch each group works on in each tick. Group g is g ticks behind group 0; a micro-batch's next byte
/// begins on group 0 when the one before has come back from the last group. With at least as many micro-batches as
/// groups, no group ever waits for work.
class timetable {
  public:
    /// `micro_batches` is at most the batch.
    timetable(const writing& what, std::size_t context, std::size_t micro_batches, int groups)
        : what_(what),
          context_(context),
          micro_batches_(micro_batches),
          period_(std::max(micro_batches, static_cast<std::size_t>(groups))),
          groups_(static_cast<std::size_t>(groups))
    {
    }

    /// Ticks from one byte of a micro-batch to its next.
    std::size_t period() const { return period_; }

    std::size_t ticks() const
    {
        return what_.length == 0 ? 0 : (what_.length - 1) * period_ + micro_batches_ + groups_ - 1;
    }

    /// Without texts if the group has nothing to do in that tick.
    micro_batch at(std::size_t tick, std::size_t group) const
    {
        if (tick < group) { return {}; }
        const std::size_t written = (tick - group) / period_;
        const std::size_t which = (tick - group) % period_;
        if (written >= what_.length || which >= micro_batches_) { return {}; }
        micro_batch result = micro_batch_of(what_.batch, which, micro_batches_);
        const std::size_t length = what_.start().size() + written;
        const std::size_t start = window_start(length, context_);
        const bool goes_on = written > 0 && window_start(length - 1, context_) == start;
        result.first = goes_on ? length - 1 - start : 0;
        result.rows = length - start - result.first;
        return result;
    }

  private:
    const writing& what_;
    std::size_t context_, micro_batches_, period_, groups_;
};

/// How it is run.
struct generation {
    int groups = 1;
    std::size_t micro_batches = 1;
    stage_schedule schedule = stage_schedule::fused;
};

/// One rank's part. `all` are the ranks of all groups: group g has those from g * n on, if each has n; `own` are those
/// of this rank's group. `report(done)` is told the number of bytes written of all texts together. Ranks of the first
/// group return the texts, without the prompt, others nothing.
template <class Communicator>
std::vector<std::string> generate(Communicator& all, Communicator& own, const model_shape& shape,
                                  std::span<const float> parameters, const writing& what, const generation& how,
                                  const std::function<void(std::size_t)>& report = {})
{
    const auto group = static_cast<std::size_t>(all.rank() / own.size());
    const std::size_t last = static_cast<std::size_t>(how.groups) - 1;
    const timetable plan(what, shape.context, std::clamp<std::size_t>(how.micro_batches, 1, what.batch), how.groups);
    pipeline_stage<Communicator> stage(own, shape, parameters, static_cast<int>(group), how.groups, how.schedule,
                                       what.batch);
    std::optional<handover<Communicator>> between;
    if (how.groups > 1) { between.emplace(all, how.groups, how.schedule); }

    std::vector<std::string> texts(what.batch, std::string(what.start()));
    std::vector<std::uint8_t> bytes;
    std::vector<std::int32_t> drawn(what.batch), back(what.batch);
    std::size_t done = 0;
    for (std::size_t tick = 0; tick < plan.ticks(); ++tick) {
        std::array<micro_batch, most_groups> ticks{};
        for (std::size_t g = 0; g <= last; ++g) { ticks[g] = plan.at(tick, g); }
        const micro_batch& mine = ticks[group];
        const micro_batch& final = ticks[last];
        if (mine.texts > 0 && group == 0) {
            bytes.clear();
            for (std::size_t t = 0; t < mine.texts; ++t) {
                const std::string& text = texts[mine.first_text + t];
                bytes.insert(bytes.end(), text.end() - static_cast<std::ptrdiff_t>(mine.rows), text.end());
            }
            stage.embed(mine, bytes);
        }
        if (mine.texts > 0) { stage.work(mine); }
        if (mine.texts > 0 && group == last) {
            const std::span<const float> logits = stage.logits(mine);
            const std::size_t written = (tick - last) / plan.period();
            for (std::size_t t = 0; t < mine.texts; ++t) {
                drawn[t] = draw_byte(logits.subspan(t * vocabulary, vocabulary), what.temperature,
                                     {what.seed, mine.first_text + t, written});
            }
        }
        const std::span<std::int32_t> returned = std::span(last > 0 ? back : drawn).first(final.texts);
        if (between) { between->run(ticks, stage, shape.width, std::span(drawn).first(final.texts), returned); }
        if (group != 0) { continue; }
        for (std::size_t t = 0; t < final.texts; ++t) {
            texts[final.first_text + t] += static_cast<char>(static_cast<std::uint8_t>(returned[t]));
        }
        done += final.texts;
        if (report && final.texts > 0) { report(done); }
    }
    if (group != 0) { return {}; }
    for (std::string& text : texts) { text.erase(0, what.start().size()); }
    return texts;
}

}  // namespace gpt
