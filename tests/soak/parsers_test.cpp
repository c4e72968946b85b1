// Parsers of external input against random damage to what is right; the long form is tests/soak/fuzz.
#include "soak/dice.hpp"
#include "soak/parsers/parsers.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

/// The input with some bytes changed, cut out, doubled or put elsewhere.
std::string damaged(std::string bytes, soak::dice& random)
{
    static const std::string pieces[] = {"\"", "{", "}", "[", "]", ",", ":", "-", "1e999", "null", "\\u0000", "\xff\xff\xff\xff", std::string(8, '\0'), "0", "."};
    for (int i = 0; i < 1 + random.below(4) && !bytes.empty(); ++i) {
        const auto at = static_cast<std::size_t>(random.below(static_cast<int>(bytes.size())));
        const auto length = static_cast<std::size_t>(1 + random.below(16));
        switch (random.below(6)) {
        case 0: bytes[at] = static_cast<char>(random.below(256)); break;
        case 1: bytes.erase(at, length); break;
        case 2: bytes.insert(at, bytes.substr(static_cast<std::size_t>(random.below(static_cast<int>(bytes.size()))), length)); break;
        case 3: bytes.resize(at); break;
        case 4: bytes.replace(at, std::min(length, bytes.size() - at), pieces[random.below(15)]); break;
        default: bytes.insert(at, pieces[random.below(15)]);
        }
    }
    return bytes;
}

template <class Read>
void check(const std::string& good, Read&& read)
{
    CHECK_NOTHROW(read(good));
    soak::dice random(17);
    int surprises = 0;
    for (int i = 0; i < 3000; ++i) {
        try {
            read(damaged(good, random));
        } catch (const std::exception& e) {  // not the parser's own refusal
            MESSAGE(e.what());
            ++surprises;
        }
    }
    CHECK(surprises == 0);
}

TEST_CASE("damaged checkpoints, machine descriptions and tuner caches are refused in words")
{
    check(parsers::good_checkpoint(), parsers::read_checkpoint);
    check(parsers::good_checkpoint(), parsers::read_signed_checkpoint);
    check(plait::to_json(plait::machine{}), parsers::read_machine);
    check(parsers::good_decisions(), parsers::read_decisions);
}

TEST_CASE("very deep and very long documents end in an error, too")
{
    for (const char* open : {"[", "{\"a\":", "[[{\"levels\":"}) {
        std::string text;
        for (int i = 0; i < 200000; ++i) { text += open; }
        CHECK_NOTHROW(parsers::read_machine(text));
        CHECK_NOTHROW(parsers::read_decisions(text));
    }
    CHECK_NOTHROW(parsers::read_machine("{\"launch\": 1" + std::string(1000000, '0') + "}"));
    CHECK_NOTHROW(parsers::read_machine("\"" + std::string(1000000, 'x')));
}

}  // namespace
