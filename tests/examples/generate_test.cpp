// Generation by examples/gpt on pipeline groups and tensor-parallel ranks: the text is that of one rank without a
// cache.
#include "../../examples/gpt/generate_plainly.hpp"
#include "../../examples/gpt/generate_threads.hpp"
#include "../../examples/gpt/transformer.hpp"
#include "../../examples/support/failure.hpp"

#include <plait/core/philox.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using gpt::stage_schedule;

struct model {
    gpt::model_shape shape;
    std::vector<float> parameters;
};

/// Larger weights than training starts from, so that what is written depends on all of them.
model random_model(const gpt::model_shape& shape, std::uint64_t seed = 3)
{
    const gpt::parameter_layout layout(shape);
    model result{shape, std::vector<float>(layout.count())};
    layout.initialise(std::span(result.parameters), seed);
    for (std::size_t i = 0; i < result.parameters.size(); ++i) {
        result.parameters[i] =
            3 * result.parameters[i] + static_cast<float>(0.2 * (plait::philox_u32(seed + 1, i) * 0x1p-32 - 0.5));
    }
    return result;
}

model small_model() { return random_model({3, 12, 3, 6}); }

gpt::writing small_task(std::string prompt = "abc")
{
    gpt::writing what;
    what.prompt = std::move(prompt);
    what.batch = 3;
    what.length = 11;  // beyond the context
    what.temperature = 0.9;
    what.seed = 5;
    return what;
}

/// What the documentation says, written down once more: the whole window goes through the transformer for every byte.
std::vector<std::string> reference(const model& m, const gpt::writing& what)
{
    gpt::transformer<float> transformer(m.shape);
    const std::size_t context = m.shape.context;
    std::vector<std::string> result;
    for (std::size_t t = 0; t < what.batch; ++t) {
        std::string text = what.prompt.empty() ? "\n" : what.prompt;
        const std::size_t before = text.size();
        for (std::size_t i = 0; i < what.length; ++i) {
            std::size_t start = 0;
            while (text.size() - start > context) { start += std::max<std::size_t>(1, context / 2); }
            const std::vector<std::uint8_t> seen(text.begin() + static_cast<std::ptrdiff_t>(start), text.end());
            const std::span<const float> logits = transformer.logits(m.parameters, seen, seen.size()).last(256);
            std::size_t next = 0;
            if (what.temperature == 0) {
                next = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
            } else {
                next = gpt::draw_byte(logits, what.temperature, {what.seed, t, i});
            }
            text += static_cast<char>(static_cast<unsigned char>(next));
        }
        result.push_back(text.substr(before));
    }
    return result;
}

std::vector<std::string> generated(const model& m, const gpt::writing& what, int groups, int ranks,
                                   std::size_t micro_batches, stage_schedule schedule = stage_schedule::fused)
{
    return gpt::generate_on_threads(m.shape, m.parameters, what, {groups, micro_batches, schedule}, ranks);
}

std::string failure_of(const auto& f)
{
    try {
        f();
        return "";
    } catch (const demo::failure& problem) {
        return std::to_string(problem.status) + ": " + problem.what();
    }
}

}  // namespace

TEST_CASE("groups, ranks, micro-batches and schedules do not change the text")
{
    const model m = small_model();
    const gpt::writing what = small_task();
    const std::vector<std::string> expected = reference(m, what);
    CHECK(gpt::generate_plainly(m.shape, m.parameters, what) == expected);
    CHECK(expected[0] != expected[1]);  // random numbers of their own
    for (const auto& [groups, ranks] : {std::array{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}, {1, 3}}) {
        for (const std::size_t micro_batches : {1U, 2U, 7U}) {
            CAPTURE(groups);
            CAPTURE(ranks);
            CAPTURE(micro_batches);
            CHECK(generated(m, what, groups, ranks, micro_batches) == expected);
        }
        for (const stage_schedule schedule : {stage_schedule::unscheduled, stage_schedule::overlapped}) {
            CAPTURE(groups);
            CAPTURE(ranks);
            CHECK(generated(m, what, groups, ranks, 2, schedule) == expected);
        }
    }
}

TEST_CASE("prompts: none, one byte, as long as the context, longer")
{
    const model m = small_model();
    for (const char* prompt : {"", "x", "12345", "123456", "1234567", "a prompt of many contexts"}) {
        CAPTURE(prompt);
        const gpt::writing what = small_task(prompt);
        const std::vector<std::string> expected = reference(m, what);
        CHECK(generated(m, what, 1, 1, 1) == expected);
        CHECK(generated(m, what, 2, 2, 2) == expected);
    }
    gpt::writing nothing = small_task("x");
    nothing.length = 0;
    CHECK(generated(m, nothing, 2, 1, 2) == std::vector<std::string>(3));
    const std::string bytes("\0\xff\x80", 3);
    CHECK(generated(m, small_task(bytes), 2, 2, 3) == reference(m, small_task(bytes)));
}

TEST_CASE("the likeliest byte at temperature 0; other numbers for another seed")
{
    const model m = small_model();
    gpt::writing what = small_task();
    const std::vector<std::string> drawn = reference(m, what);
    what.seed = 6;
    CHECK(generated(m, what, 2, 2, 2) == reference(m, what));
    CHECK(generated(m, what, 2, 2, 2) != drawn);
    what.temperature = 0;
    const std::vector<std::string> likeliest = generated(m, what, 2, 2, 2);
    CHECK(likeliest == reference(m, what));
    CHECK(likeliest[0] == likeliest[1]);
    what.seed = 7;
    CHECK(generated(m, what, 1, 1, 1) == likeliest);
}

TEST_CASE("odd shapes: heads that do not divide, more ranks than heads, contexts of 1 to 3")
{
    for (const gpt::model_shape& shape :
         {gpt::model_shape{2, 20, 5, 7}, {2, 8, 1, 4}, {3, 3, 3, 1}, {2, 6, 2, 2}, {2, 4, 4, 3}}) {
        const model m = random_model(shape);
        const gpt::writing what = small_task();
        const std::vector<std::string> expected = reference(m, what);
        CAPTURE(shape.heads);
        CAPTURE(shape.context);
        CHECK(generated(m, what, 2, 2, 2) == expected);
        CHECK(generated(m, what, 1, 4, 2) == expected);
        CHECK(generated(m, what, 2, 3, 1, stage_schedule::overlapped) == expected);
    }
}

TEST_CASE("heads and layers are dealt out completely; parts are slices as plait makes them")
{
    for (const std::size_t heads : {1U, 3U, 4U, 24U}) {
        for (int ranks = 1; ranks <= 5; ++ranks) {
            const gpt::model_shape shape{1, 96 * heads, heads, 4};
            std::size_t next = 0;
            for (int r = 0; r < ranks; ++r) {
                const gpt::tensor_slice mine(shape, r, ranks);
                CHECK((mine.heads == 0 || mine.first_head == next));
                next += mine.heads;
                for (const std::size_t each : {mine.mixed, mine.qkv}) {
                    const auto n = static_cast<std::int64_t>(each);
                    CHECK(plait::slice_of(n * ranks, r, ranks) == plait::slice_range{n * r, n});
                }
                CHECK(mine.mixed >= mine.heads * mine.head_width);
                CHECK(mine.qkv >= 3 * mine.heads * mine.head_width);
            }
            CHECK(next == heads);
        }
    }
    for (const std::size_t layers : {3U, 4U, 11U}) {
        std::size_t next = 0;
        std::size_t most = layers;
        for (int g = 0; g < 3; ++g) {
            const gpt::layer_range range = gpt::layers_of(layers, g, 3);
            CHECK(range.first == next);
            CHECK(range.last - range.first <= most);
            most = range.last - range.first;
            next = range.last;
        }
        CHECK(next == layers);
        CHECK(most == layers / 3);
    }
}

TEST_CASE("no group works on what is not there yet, and every byte is written once")
{
    for (const std::size_t micro_batches : {1U, 2U, 5U}) {
        for (int groups = 1; groups <= 3; ++groups) {
            const gpt::writing what = small_task();
            const gpt::timetable plan(what, 6, std::min<std::size_t>(micro_batches, what.batch), groups);
            std::vector<std::size_t> written(what.batch);  // bytes that have left the last group
            std::vector<std::size_t> begun(what.batch);
            for (std::size_t tick = 0; tick < plan.ticks(); ++tick) {
                const gpt::micro_batch first = plan.at(tick, 0);
                for (std::size_t t = first.first_text; t < first.first_text + first.texts; ++t) {
                    CHECK(begun[t]++ == written[t]);
                }
                const gpt::micro_batch last = plan.at(tick, static_cast<std::size_t>(groups - 1));
                for (std::size_t t = last.first_text; t < last.first_text + last.texts; ++t) { ++written[t]; }
            }
            CHECK(written == std::vector<std::size_t>(what.batch, what.length));
        }
    }
}

TEST_CASE("bytes are drawn as often as their probability says")
{
    std::vector<float> logits(256, -1e9F);
    logits['a'] = std::log(6.0F);
    logits['b'] = std::log(3.0F);
    logits['c'] = 0;
    std::array<int, 256> count{};
    for (std::uint64_t i = 0; i < 10'000; ++i) { ++count[gpt::draw_byte(logits, 1, {1, i % 7, i})]; }
    CHECK(std::abs(count['a'] - 6000) < 250);
    CHECK(std::abs(count['b'] - 3000) < 250);
    CHECK(std::abs(count['c'] - 1000) < 250);
    CHECK(gpt::draw_byte(logits, 0, {}) == 'a');
}

TEST_CASE("a rank that fails ends all others, with its reason")
{
    const model m = small_model();
    const auto report = [](std::size_t done) {
        if (done >= 3) { throw demo::failure(1, "the pen is empty"); }
    };
    for (const auto& [groups, ranks] : {std::array{1, 2}, {2, 1}, {2, 2}}) {
        CHECK(failure_of([&, groups = groups, ranks = ranks] {
                  gpt::generate_on_threads(m.shape, m.parameters, small_task(), {groups, 2, stage_schedule::fused},
                                           ranks, report);
              }) == "1: the pen is empty");
    }
}
