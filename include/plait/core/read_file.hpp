// Reading a file whole.
#pragma once

#include <plait/core/error.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

namespace plait {

/// The bytes of a file, or nothing if there is none. @throws plait::error if it is there and cannot be read.
inline std::optional<std::string> read_file(const std::string& path)
{
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) { return std::nullopt; }
    std::ifstream in(path, std::ios::binary);
    if (!in || std::filesystem::is_directory(path, ignored)) { throw error({"cannot read '", path, "'"}); }
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (in.bad()) { throw error({"cannot read '", path, "'"}); }
    return text;
}

}  // namespace plait
