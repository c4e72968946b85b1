// Every parser of what comes from outside, given any bytes: it takes them, or says in words of its own why not.
#pragma once

#include "../../../examples/gpt/checkpoint.hpp"

#include <plait/tune/decisions.hpp>
#include <plait/tune/machine_file.hpp>

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace parsers {

/// Throws logic_error if a refusal says nothing.
inline void must_say_why(const std::string& text)
{
    if (text.size() < 8) { throw std::logic_error("refused without a word: '" + text + "'"); }
}

/// A checkpoint of examples/gpt; what is taken is written as the very same bytes again.
inline void read_checkpoint(const std::string& bytes)
{
    try {
        const gpt::checkpoint found = gpt::checkpoint_from_bytes(bytes, "'input'");
        const std::vector<char> again = gpt::checkpoint_to_bytes(found);
        if (std::string(again.begin(), again.end()) != bytes) { throw std::logic_error("a checkpoint changes when it is written again"); }
    } catch (const demo::failure& e) {
        must_say_why(e.what());
    }
}
/// The same with a checksum that is right.
inline void read_signed_checkpoint(std::string bytes)
{
    if (bytes.size() > 8) {
        const std::size_t checked = bytes.size() - 8;
        const std::uint64_t sum = gpt::detail::fnv1a(std::span<const char>(bytes).first(checked));
        std::memcpy(bytes.data() + checked, &sum, sizeof sum);
    }
    read_checkpoint(bytes);
}
/// A machine description; what is taken is the same when it is written and read again.
inline void read_machine(const std::string& text)
{
    try {
        const plait::machine m = plait::machine_from_json(text);
        if (plait::machine_from_json(plait::to_json(m)) != m) { throw std::logic_error("a machine changes when it is written again"); }
    } catch (const plait::error& e) {
        must_say_why(e.what());
    }
}
/// The tuner's cache, as a file; what cannot be used is warned of.
inline void read_decisions(const std::string& text)
{
    const std::string path = (std::filesystem::temp_directory_path() / ("plait_parsers_" + std::to_string(::getpid()))).string();
    std::ofstream(path, std::ios::binary) << text;
    const plait::detail::decision_file file(path);
    const plait::detail::decision_key key{"adam", "00ff", "f32", "N=2^20", 2, "threads", "cpu"};
    const auto found = file.find(key, [](const std::string& warning) { must_say_why(warning); });
    if (found && !(found->seconds >= 0)) { throw std::logic_error("a decision that takes no time"); }
    std::filesystem::remove(path);
}

/// One of each that is right.
inline std::string good_checkpoint()
{
    gpt::training_settings s;
    s.shape = {1, 4, 2, 3};
    const std::vector<char> bytes = gpt::checkpoint_to_bytes(gpt::first_checkpoint(s));
    return {bytes.begin(), bytes.end()};
}
inline std::string good_decisions()
{
    const std::string path = (std::filesystem::temp_directory_path() / ("plait_parsers_good_" + std::to_string(::getpid()))).string();
    const auto quiet = [](const std::string&) {};
    plait::detail::decision_file(path).add({"adam", "00ff", "f32", "N=2^20", 2, "threads", "cpu"}, {7, {4, {}, {}}, 1e-3, 2e-3}, quiet);
    const std::string text = plait::read_file(path).value_or("");
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".lock");
    return text;
}

}  // namespace parsers
