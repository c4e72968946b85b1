// Writing a file whole or not at all.
#pragma once

#include <plait/core/error.hpp>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace plait {

/// Writes `text` to a file, which others see as it was before or complete: it is written beside the file and renamed. What is no
/// file, such as a pipe, is written to as it is. @throws plait::error that names the path and what went wrong.
inline void write_file(const std::filesystem::path& path, std::string_view text)
{
    namespace fs = std::filesystem;
    const auto refuse = [&](const std::string& why) { throw error({"cannot write \"", path.string(), "\": ", why}); };
    std::error_code status;
    const fs::file_status is = fs::status(path, status);
    const bool direct = fs::exists(is) && !fs::is_regular_file(is) && !fs::is_directory(is);
    const fs::path target = fs::is_symlink(path, status) && !direct ? fs::weakly_canonical(path, status) : path;
    fs::path written = target;
    if (!direct) {
        const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
        written += joined({".", now, "-", reinterpret_cast<std::uintptr_t>(&now) % 65'536, ".tmp"});
    }
    const auto close = [](std::FILE* f) { std::fclose(f); };
    std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(written.c_str(), direct ? "wb" : "wbx"), close);
    if (file == nullptr) { refuse(std::strerror(errno)); }
    errno = 0;
    bool good = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
    good = std::fclose(file.release()) == 0 && good;
    std::string why = good ? "" : std::strerror(errno);
    if (!direct && good) {
        std::error_code moved;
        fs::rename(written, target, moved);
        if (moved) { why = moved.message(); }
    }
    if (why.empty()) { return; }
    if (!direct) { fs::remove(written, status); }
    refuse(why);
}

}  // namespace plait
