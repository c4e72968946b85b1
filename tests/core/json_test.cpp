#include <plait/core/json.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>

namespace json = plait::json;

TEST_CASE("values are written and read back")
{
    const std::string text = R"({"name": "a \"b\"\\\n\u0001", "list": [1, -2.5, 1e-9, true, false, null, []], "empty": {}})";
    const json::value v = json::parse(text);
    CHECK(v.at("name").get<std::string>("name") == "a \"b\"\\\n\x01");
    const auto& list = v.at("list").get<json::array>("list");
    REQUIRE(list.size() == 7);
    CHECK(list[1].get<double>("number") == -2.5);
    CHECK(list[2].get<double>("number") == 1e-9);
    CHECK(*list[3].get_if<bool>());
    CHECK(list[5].get_if<bool>() == nullptr);
    for (int depth : {0, 1, 5}) { CHECK(json::parse(v.text(depth)).text() == v.text()); }
    CHECK(json::value(json::object{{"a", 1}, {"b", json::array{true, "x"}}}).text() == R"({"a": 1, "b": [true, "x"]})");
    CHECK(json::value(json::object{{"a", 1}}).text(1) == "{\n  \"a\": 1\n}");
    CHECK(json::value(std::numeric_limits<double>::infinity()).text() == "null");
    for (double d : {0.1, 1e300, 5e-324, -0.0, 123456789.125}) { CHECK(json::parse(json::value(d).text()).get<double>("d") == d); }
}

TEST_CASE("what is no JSON is refused, with its place")
{
    const auto refused = [](std::string_view text, const char* why) { CHECK_THROWS_WITH_AS(static_cast<void>(json::parse(text)), why, plait::error); };
    refused("", "plait: JSON, character 1: no value");
    refused("{\"a\": 1", "plait: JSON, character 8: a ',' or '}' is missing");
    refused("[1, 2 3]", "plait: JSON, character 7: a ',' or ']' is missing");
    refused("[1,]", "plait: JSON, character 4: no value");
    refused("{\"a\" 1}", "plait: JSON, character 6: a ':' is missing");
    refused("{a: 1}", "plait: JSON, character 2: a string is missing");
    refused("\"abc", "plait: JSON, character 5: a string has no end");
    refused("\"a\\", "plait: JSON, character 4: a string has no end");
    refused("\"\\x\"", "plait: JSON, character 3: an escape that plait does not write");
    refused("\"\\u12\"", "plait: JSON, character 3: an escape that plait does not write");
    refused("\"a\nb\"", "plait: JSON, character 3: a control character in a string");
    refused("1 2", "plait: JSON, character 3: there is more after the value");
    refused("nul", "plait: JSON, character 1: no value");
    refused("nan", "plait: JSON, character 1: no value");
    refused("1e999", "plait: JSON, character 1: no value");
    refused(std::string(100, '['), "plait: JSON, character 34: nested too deeply");
}

TEST_CASE("wrong kinds and missing members are named")
{
    const json::value v = json::parse("{\"a\": [1]}");
    CHECK_THROWS_WITH_AS(static_cast<void>(v.at("b")), "plait: \"b\" is missing", plait::error);
    CHECK_THROWS_WITH_AS(static_cast<void>(v.at("a").get<double>("a")), "plait: a is no number", plait::error);
    CHECK_THROWS_WITH_AS(static_cast<void>(v.at("a").at("x")), "plait: x is no object", plait::error);
}

TEST_CASE("damaged text is refused or read, never more")
{
    const std::string good = R"({"format": "x 1", "list": [{"a": 1.5, "b": "two"}, {"a": -3e2, "c": [true, null]}]})";
    std::mt19937 random(7);
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text = good;
        for (int k = 0; k < 1 + i % 3; ++k) {
            const std::size_t at = random() % text.size();
            switch (random() % 3) {
            case 0: text[at] = static_cast<char>(random()); break;
            case 1: text.erase(at, 1 + random() % 5); break;
            default: text.insert(at, 1, "{}[]\",:0e\\"[random() % 10]);
            }
        }
        try {
            const json::value v = json::parse(text);
            CHECK(json::parse(v.text()).text() == v.text());
        } catch (const plait::error&) {
            ++refused;
        }
    }
    CHECK(refused > 5000);
}
