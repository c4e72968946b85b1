// Sizes that are near enough to each other for one decision.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/plan/arguments.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace plait::detail {

/// The extents of a run, each rounded down to a power of two: "N=2^20, H=2^10"; and the numbers of scattered tensors.
inline std::string size_class(const arguments& args)
{
    const auto rounded = [](std::int64_t n) {
        return n <= 0 ? std::string("0") : "2^" + std::to_string(std::bit_width(static_cast<std::uint64_t>(n)) - 1);
    };
    std::string text;
    for (std::size_t i = 0; i < args.extents().size(); ++i) {
        if (args.extents()[i] < 0) { continue; }
        text += (text.empty() ? "" : ", ") + std::string(args.image().text(static_cast<int>(i))) + "=" + rounded(args.extents()[i]);
        const std::size_t tensors = args.counts()[i].size();
        if (tensors > 1) { text += " in " + rounded(static_cast<std::int64_t>(tensors)); }
    }
    return text.empty() ? "fixed sizes" : text;
}

/// The dtypes of a program's tensors, each once: "f16 f32".
inline std::string dtypes_text(const program_image& image)
{
    std::string text;
    for (const node& n : image.nodes) {
        const std::string name(name_of(n.type));
        if (n.kind != op::tensor || (" " + text + " ").find(" " + name + " ") != std::string::npos) { continue; }
        text += (text.empty() ? "" : " ") + name;
    }
    return text;
}

}  // namespace plait::detail
