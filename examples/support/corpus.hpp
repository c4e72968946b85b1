// The text to learn from: where it comes from, and which of its bytes are held out to measure what was learnt.
#pragma once

#include "failure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace demo {

/// Bytes read from one file at most; the rest of a longer one is left unread.
inline constexpr std::size_t longest_text = std::size_t{64} << 20U;

/// The bytes of a file. Throws failure, status 1, if it cannot be read or is empty.
inline std::string read_file(const std::filesystem::path& path)
{
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        throw file_failure("cannot read '" + path.string() + "': it is a folder");
    }
    std::ifstream in(path, std::ios::binary);
    std::string bytes;
    char block[1 << 16];
    while (bytes.size() < longest_text && (in.read(block, sizeof block) || in.gcount() > 0)) {
        bytes.append(block, static_cast<std::size_t>(in.gcount()));
    }
    if (in.bad() || (bytes.empty() && !in.eof())) { throw file_failure("cannot read '" + path.string() + "'"); }
    if (bytes.empty()) { throw file_failure("'" + path.string() + "' is empty"); }
    return bytes;
}

/// README.md and docs/**/*.md of plait's root, one after the other in the order of their paths. The root is the first of
/// `folders`, or the nearest folder above it, that has README.md and include/plait. Throws failure, status 1, if none is.
inline std::string read_documentation(std::span<const std::filesystem::path> folders)
{
    namespace fs = std::filesystem;
    std::error_code ignored;
    const auto is_root = [&](const fs::path& folder) {
        return fs::exists(folder / "README.md", ignored) && fs::exists(folder / "include" / "plait", ignored);
    };
    for (fs::path folder : folders) {
        while (!is_root(folder) && folder.has_relative_path()) { folder = folder.parent_path(); }
        if (!is_root(folder)) { continue; }
        std::vector<fs::path> pages;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / "docs", ignored)) {
            if (entry.path().extension() == ".md" && entry.file_size(ignored) > 0) { pages.push_back(entry.path()); }
        }
        std::sort(pages.begin(), pages.end());
        std::string text = read_file(folder / "README.md");
        for (const fs::path& page : pages) { text += read_file(page); }
        return text;
    }
    throw file_failure("plait's documentation is not beside the program or above it: name a text with --text FILE");
}

/// A text in stretches of ten blocks: the model learns from nine and is measured on the tenth. A window is `context`
/// bytes and the byte after them, which is to be predicted; no window lies in both kinds of block.
class corpus {
  public:
    /// Throws failure, status 1, if the text is shorter than `shortest(context)` bytes.
    corpus(std::string text, std::size_t context) : text_(std::move(text)), context_(context)
    {
        if (text_.size() < shortest(context)) {
            throw file_failure("the text has " + std::to_string(text_.size()) + " bytes; with a context of " +
                               std::to_string(context) + " it takes " + std::to_string(shortest(context)) + " or more");
        }
        stretches_ = text_.size() / shortest(context);
        block_ = text_.size() / (10 * stretches_);  // up to 10 * stretches_ - 1 bytes at the end belong to no block
    }

    static constexpr std::size_t shortest(std::size_t context) { return 10 * std::max<std::size_t>(256, 4 * context); }

    std::size_t bytes() const { return text_.size(); }
    std::size_t context() const { return context_; }
    std::size_t train_windows() const { return stretches_ * (9 * block_ - context_); }
    std::size_t held_out_windows() const { return stretches_ * (block_ - context_); }

    /// Window i of the nine blocks: context() + 1 bytes. i < train_windows().
    std::span<const char> train(std::size_t i) const
    {
        const std::size_t each = 9 * block_ - context_;
        return window(i / each * 10 * block_ + i % each);
    }

    /// Window i of the tenth blocks: context() + 1 bytes. i < held_out_windows().
    std::span<const char> held_out(std::size_t i) const
    {
        const std::size_t each = block_ - context_;
        return window((i / each * 10 + 9) * block_ + i % each);
    }

  private:
    std::span<const char> window(std::size_t first) const
    {
        return std::span<const char>(text_).subspan(first, context_ + 1);
    }

    std::string text_;
    std::size_t context_;
    std::size_t stretches_ = 0;
    std::size_t block_ = 0;
};

}  // namespace demo
