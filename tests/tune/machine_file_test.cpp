#include <plait/tune/machine_file.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <limits>
#include <string>

namespace pl = plait;

namespace {

std::string with(std::string text, const std::string& from, const std::string& to)
{
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a machine goes through JSON and back")
{
    pl::machine m;
    m.bandwidth = 1.25e10;
    m.launch = 3.7e-7;
    m.cache = 1 << 20;
    m.levels[0] = {8, 1e-6, 4.5e11};
    m.levels[1] = {64, 5e-6, 5e10};
    CHECK(pl::machine_from_json(pl::to_json(m)) == m);
    CHECK(pl::machine_from_json(pl::to_json(pl::machine{})) == pl::machine{});
    CHECK(m.between(8) == m.levels[0]);
    CHECK(m.between(9) == m.levels[1]);
    CHECK(m.between(65) == m.levels[2]);
}

TEST_CASE("descriptions that cannot be right are refused with the number's name")
{
    const std::string good = pl::to_json(pl::machine{});
    const auto refused = [&](const std::string& from, const std::string& to, const char* why) {
        CHECK_THROWS_WITH_AS(pl::machine_from_json(with(good, from, to)), why, pl::error);
    };
    refused("\"launch\"", "\"lunch\"", "plait: \"lunch\" is no number of a machine");
    refused("\"bandwidth\": 1e+10", "\"bandwidth\": 0", "plait: \"bandwidth\" is 0; it must be above 0");
    refused("\"meeting\": 1e-06", "\"meeting\": -1", "plait: \"meeting\" is -1; it must be 0 or more");
    refused("\"meeting\": 1e-06", "\"meeting\": \"soon\"", "plait: meeting is no number");
    refused("\"launch\": 5e-07,", "", "plait: \"launch\" is missing");
    refused("{\"latency\": 0}", "{\"latency\": 0, \"ranks\": 1.5}", "plait: \"ranks\" is no whole number");
    refused("{\"latency\": 0}", "{\"latency\": 0, \"colour\": 1}", "plait: \"colour\" is no number of a machine");
    refused("{\"latency\": 0}, {\"latency\": 0}", "{\"latency\": 0}", "plait: \"levels\" are 2; there must be 3");
    CHECK_THROWS_WITH_AS(pl::machine_from_json("[]"), "plait: a machine is no object", pl::error);
}

TEST_CASE("files")
{
    const std::string path = (std::filesystem::temp_directory_path() / ("plait_machine_" + std::to_string(::getpid()))).string();
    CHECK_THROWS_WITH_AS(pl::load_machine(path),
                         ("plait: there is no machine description '" + path + "'; make one with calibrate and save_machine").c_str(), pl::error);
    pl::machine m;
    m.product_rate = 7e13;
    pl::save_machine(m, path);
    CHECK(pl::load_machine(path) == m);
    pl::write_file(path, "{");
    CHECK_THROWS_WITH_AS(pl::load_machine(path),
                         ("plait: machine description '" + path + "': JSON, character 2: a string is missing").c_str(), pl::error);
    std::filesystem::remove(path);
}
