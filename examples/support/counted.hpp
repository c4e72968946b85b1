// Numbers of things, in words.
#pragma once

#include <cstddef>
#include <string>

namespace demo {

/// "1 layer", "2 layers": `one` with an s, unless it is one, or `many`.
inline std::string counted(std::size_t n, const std::string& one, const std::string& many = "")
{
    return std::to_string(n) + " " + (n == 1 ? one : many.empty() ? one + "s" : many);
}

}  // namespace demo
