// Small files, read whole and replaced whole.
#pragma once

#include <plait/core/error.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace plait {

/// The bytes of a file, or nothing if there is none. @throws plait::error if it is there and cannot be read.
inline std::optional<std::string> read_file(const std::string& path)
{
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) { return std::nullopt; }
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in || std::filesystem::is_directory(path, ignored)) { throw error({"cannot read '", path, "'"}); }
    return text;
}

/// Replaces a file by one with this text, at once: who reads it sees the old one or the new one, and a failure leaves the
/// old one. @throws plait::error if it cannot be written.
inline void replace_file(const std::string& path, std::string_view text)
{
    const std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
    std::ofstream out(temporary, std::ios::binary);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.close();
    if (out && std::rename(temporary.c_str(), path.c_str()) == 0) { return; }
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    throw error({"cannot write '", path, "': ", why});
}

}  // namespace plait
