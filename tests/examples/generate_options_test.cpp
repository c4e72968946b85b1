// The command line of generate_pipeline: what it takes and what it refuses.
#include "../../examples/gpt/generate_options.hpp"
#include "../../examples/gpt/checkpoint.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

namespace {

using gpt::stage_schedule;

std::string failure_of(const auto& f)
{
    try {
        f();
        return "";
    } catch (const demo::failure& problem) {
        return std::to_string(problem.status) + ": " + problem.what();
    }
}

gpt::generate_options parse(std::initializer_list<const char*> arguments)
{
    return gpt::parse_generate_options({arguments.begin(), arguments.size()});
}

}  // namespace

TEST_CASE("the command line")
{
    const gpt::generate_options all = parse({"--checkpoint",
                                             "file",
                                             "--groups",
                                             "3",
                                             "--ranks=4",
                                             "--batch",
                                             "9",
                                             "--micro-batches",
                                             "5",
                                             "--prompt",
                                             "x y",
                                             "--length",
                                             "7",
                                             "--temperature",
                                             "0",
                                             "--seed",
                                             "8",
                                             "--schedule",
                                             "overlapped",
                                             "--compare"});
    CHECK(all.checkpoint == "file");
    CHECK(all.groups == 3);
    CHECK(all.ranks == 4);
    CHECK(all.what.batch == 9);
    CHECK(all.how().micro_batches == 5);
    CHECK(all.what.prompt == "x y");
    CHECK(all.what.length == 7);
    CHECK(all.what.temperature == 0);
    CHECK(all.what.seed == 8);
    CHECK(all.schedule == stage_schedule::overlapped);
    CHECK(all.compare);
    CHECK(parse({"--checkpoint", "file"}).how().micro_batches == 2);
    CHECK(parse({"--help"}).help);

    const auto refused = [](std::initializer_list<const char*> arguments) {
        return failure_of([&] { parse(arguments); });
    };
    CHECK(refused({}) == "2: --checkpoint FILE is missing; train_gpt --save writes one");
    CHECK(refused({"--groups", "9"}) == "2: --groups must be a whole number from 1 to 8, not '9'");
    CHECK(refused({"--ranks", "0"}) == "2: --ranks must be a whole number from 1 to 64, not '0'");
    CHECK(refused({"--temperature", "hot"}) == "2: --temperature must be a number from 0 to 10, not 'hot'");
    CHECK(refused({"--temperature", "-1"}) == "2: --temperature must be a number from 0 to 10, not '-1'");
    CHECK(refused({"--temperature", "nan"}) == "2: --temperature must be a number from 0 to 10, not 'nan'");
    CHECK(refused({"--schedule", "sliced"}) == "2: --schedule must be unscheduled, fused or overlapped, not 'sliced'");
    CHECK(refused({"--what"}) == "2: unknown option '--what'; --help lists them");
    CHECK(refused({"--prompt"}) == "2: --prompt needs a value");
    CHECK(failure_of([] {
              check_fits(parse({"--checkpoint", "file", "--groups", "3"}), gpt::model_shape{2, 8, 2, 4});
          }) == "2: the model has 2 layers: --groups must be at most that, not 3");
    CHECK(failure_of([] { gpt::load_checkpoint("/nowhere/model"); }) ==
          "1: cannot read checkpoint '/nowhere/model': No such file or directory");
}
