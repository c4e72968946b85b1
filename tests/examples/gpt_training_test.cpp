// Training by examples/gpt: what is learnt does not depend on ranks, schedules or interruptions.
#include "../../examples/gpt/options.hpp"
#include "../../examples/gpt/train.hpp"
#include "../../examples/gpt/write.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace {

using gpt::optimizer_kind;
using gpt::schedule_kind;

const demo::corpus& text()
{
    static const demo::corpus corpus = [] {
        std::string repetitive;
        while (repetitive.size() < 6000) { repetitive += "one two three, never four; "; }
        return demo::corpus(repetitive, 8);
    }();
    return corpus;
}

gpt::training_settings small_settings(optimizer_kind kind = optimizer_kind::adamw)
{
    gpt::training_settings s;
    s.shape = {2, 8, 2, 8};
    s.optimizer = kind;
    s.batch = 6;
    s.steps = 9;
    s.learning_rate = 5e-3;
    return s;
}

gpt::execution on(int ranks, std::uint64_t stop_at = 0, schedule_kind schedule = schedule_kind::fused)
{
    gpt::execution how;
    how.ranks = ranks;
    how.stop_at = stop_at;
    how.schedule = schedule;
    return how;
}

struct run {
    gpt::checkpoint state;
    std::vector<double> losses;
};

/// Trains in turn as each of `parts` says.
run train(const gpt::training_settings& settings, std::initializer_list<gpt::execution> parts)
{
    run result{gpt::first_checkpoint(settings), {}};
    for (const gpt::execution& how : parts) {
        const gpt::outcome part = gpt::train(result.state, how, text());
        result.losses.insert(result.losses.end(), part.losses.begin(), part.losses.end());
    }
    return result;
}

double worst_difference(const std::vector<double>& a, const std::vector<double>& b)
{
    REQUIRE(a.size() == b.size());
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) { worst = std::max(worst, std::fabs(a[i] - b[i])); }
    return worst;
}

std::string failure_of(const auto& f)
{
    try {
        f();
        return "";
    } catch (const demo::failure& problem) {
        return problem.what();
    }
}

gpt::options parse(std::initializer_list<const char*> arguments)
{
    return gpt::parse_options({arguments.begin(), arguments.size()});
}

}  // namespace

TEST_CASE("the loss falls, on a repetitive text far below what counting gives")
{
    for (const optimizer_kind kind : {optimizer_kind::adamw, optimizer_kind::lamb}) {
        gpt::training_settings s = small_settings(kind);
        s.steps = 120;
        s.batch = 8;
        s.learning_rate = kind == optimizer_kind::adamw ? 3e-2 : 5e-2;
        gpt::checkpoint state = gpt::first_checkpoint(s);
        const gpt::outcome result = gpt::train(state, on(2), text());
        CAPTURE(name(kind).data());
        CHECK(result.losses.size() == 120);
        CHECK(result.losses.front() > 5);
        CHECK(result.losses.front() < 6.5);  // log(256) is 5.55
        CHECK(result.losses.back() < 0.6);
        CHECK(result.held_out < 0.6);  // 2.5 by counting bytes
        CHECK(state.step == 120);
    }
}

TEST_CASE("any number of ranks learns the same, but for rounding")
{
    for (const optimizer_kind kind : {optimizer_kind::adamw, optimizer_kind::lamb}) {
        const run one = train(small_settings(kind), {on(1)});
        CHECK(one.losses.size() == 9);
        for (const int ranks : {2, 3, 4, 7}) {  // 7: one rank has no window
            const run more = train(small_settings(kind), {on(ranks)});
            CAPTURE(ranks);
            CHECK(worst_difference(one.losses, more.losses) < 1e-3);
        }
    }
}

TEST_CASE("the same run gives the same bits, under every schedule")
{
    for (const optimizer_kind kind : {optimizer_kind::adamw, optimizer_kind::lamb}) {
        const run fused = train(small_settings(kind), {on(3)});
        for (const schedule_kind schedule : {schedule_kind::fused, schedule_kind::sliced, schedule_kind::unscheduled}) {
            const run other = train(small_settings(kind), {on(3, 0, schedule)});
            CAPTURE(name(schedule).data());
            CHECK(other.losses == fused.losses);
            CHECK(other.state == fused.state);
        }
    }
}

TEST_CASE("a resumed run goes on as if it had not stopped")
{
    for (const optimizer_kind kind : {optimizer_kind::adamw, optimizer_kind::lamb}) {
        const gpt::training_settings s = small_settings(kind);
        const run whole = train(s, {on(3)});
        const run parts = train(s, {on(3, 4), on(3, 6, schedule_kind::unscheduled), on(3)});
        CHECK(parts.losses == whole.losses);
        CHECK(parts.state == whole.state);
        for (const int ranks : {1, 2, 4}) {
            const run moved = train(s, {on(3, 5), on(ranks)});
            CAPTURE(ranks);
            CHECK(worst_difference(moved.losses, whole.losses) < 1e-3);
            CHECK(moved.state.step == 9);
        }
    }
}

TEST_CASE("checkpoints are written on the way, and resume from the file")
{
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("plait-gpt-" + std::to_string(getpid()));
    const gpt::training_settings s = small_settings();
    const run whole = train(s, {on(2)});
    gpt::execution saving = on(2, 7);
    saving.save = path.string();
    saving.save_every = 3;
    gpt::checkpoint state = gpt::first_checkpoint(s);
    gpt::train(state, saving, text());
    gpt::checkpoint loaded = gpt::load_checkpoint(path.string());
    std::filesystem::remove(path);
    CHECK(loaded.step == 7);
    CHECK(loaded == state);
    gpt::train(loaded, on(2), text());
    CHECK(loaded == whole.state);

    saving.save = "/nonexistent/folder/file";
    CHECK(failure_of([&] { gpt::train(state, saving, text()); }) == "");  // nothing left to do
    saving.stop_at = 8;
    CHECK(failure_of([&] { gpt::train(state, saving, text()); }).find("cannot save") != std::string::npos);
}

TEST_CASE("an interrupted run ends after a step that all ranks have done")
{
    const std::atomic<bool> interrupted = true;
    gpt::execution how = on(3);
    how.interrupted = &interrupted;
    gpt::checkpoint state = gpt::first_checkpoint(small_settings());
    CHECK(gpt::train(state, how, text()).losses.size() == 1);
    CHECK(state.step == 1);
    CHECK(state == train(small_settings(), {on(3, 1)}).state);
}

TEST_CASE("a loss that is no number ends the run with advice")
{
    gpt::checkpoint state = gpt::first_checkpoint(small_settings());
    state.parameters[state.parameters.size() - 1] = INFINITY;
    CHECK(failure_of([&] { gpt::train(state, on(2), text()); }).find("--lr") != std::string::npos);
}

TEST_CASE("the model writes as many bytes as asked for, the same for the same seed")
{
    const run learnt = train(small_settings(), {on(1)});
    gpt::transformer<float> model(learnt.state.settings.shape);
    const std::string once = gpt::write_text(model, learnt.state.parameters, "o", 30, 0.8, 1);
    CHECK(once.size() == 30);
    CHECK(once == gpt::write_text(model, learnt.state.parameters, "o", 30, 0.8, 1));
    CHECK(once != gpt::write_text(model, learnt.state.parameters, "o", 30, 0.8, 2));
}

TEST_CASE("options")
{
    const gpt::options all =
        parse({"--data", "d", "--ranks=3", "--schedule", "sliced", "--width", "32", "--heads", "2", "--lr", "1e-3",
               "--optimizer", "lamb", "--save", "s", "--save-every", "5", "--seed=0"});
    CHECK(*all.data == "d");
    CHECK(all.ranks == 3);
    CHECK(all.schedule == schedule_kind::sliced);
    const gpt::training_settings s = gpt::new_settings(all);
    CHECK(s.shape == gpt::model_shape{2, 32, 2, 64});
    CHECK(s.optimizer == optimizer_kind::lamb);
    CHECK(s.learning_rate == 1e-3);
    CHECK(s.seed == 0);
    CHECK(gpt::new_settings(parse({})) == gpt::training_settings{});
    CHECK(gpt::new_settings(parse({"--optimizer", "lamb"})).learning_rate == 1e-2);
    CHECK(parse({"--help"}).help);

    const auto refused = [](std::initializer_list<const char*> arguments, const char* part) {
        const std::string why = failure_of([&] { gpt::new_settings(parse(arguments)); });
        CAPTURE(why);
        CHECK(why.find(part) != std::string::npos);
    };
    refused({"--width", "30"}, "multiple of the heads");
    refused({"--width"}, "needs a value");
    refused({"--ranks", "0"}, "whole number from 1 to 64");
    refused({"--lr", "0"}, "a number above 0");
    refused({"--lr", "nan"}, "a number above 0");
    refused({"--lr", "1x"}, "a number above 0");
    refused({"--optimizer", "sgd"}, "adamw or lamb");
    refused({"--schedule", "fast"}, "unscheduled, sliced or fused");
    refused({"--save-every", "5"}, "needs --save");
    refused({"--data="}, "name of a file");
    refused({"--colour", "5"}, "unknown option");
    refused({"--layers", "64", "--width", "4096"}, "too large");
}

TEST_CASE("options and a checkpoint")
{
    gpt::training_settings kept = small_settings();
    const auto resumed = [&](std::initializer_list<const char*> arguments) {
        return gpt::resumed_settings(parse(arguments), kept);
    };
    CHECK(resumed({}) == kept);
    CHECK(resumed({"--width", "8", "--seed", "1"}) == kept);
    CHECK(resumed({"--steps", "20"}).steps == 20);
    CHECK(resumed({"--batch", "2", "--lr", "1"}).batch == 2);
    CHECK(failure_of([&] {
              resumed({"--width", "32"});
          }) == "--width is 8 in the checkpoint and cannot be changed: leave the option out");
    CHECK(failure_of([&] { resumed({"--optimizer", "lamb"}); }).find("is adamw") != std::string::npos);
    CHECK(failure_of([&] { gpt::check_steps_left(parse({}), kept, 8); }).empty());
    CHECK(failure_of([&] { gpt::check_steps_left(parse({}), kept, 9); }).find("--steps must be more") !=
          std::string::npos);
    CHECK(failure_of([&] {
              gpt::check_steps_left(parse({"--stop-at", "5"}), kept, 5);
          }).find("--stop-at") != std::string::npos);
}
