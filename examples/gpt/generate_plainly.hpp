// Generation without plait's programs, to compare with: one thread, the whole window computed for every byte.
#pragma once

#include "draw.hpp"
#include "generate.hpp"
#include "transformer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpt {

inline std::vector<std::string> generate_plainly(const model_shape& shape, std::span<const float> parameters,
                                                 const writing& what)
{
    transformer<float> model(shape);
    std::vector<std::string> result;
    for (std::size_t t = 0; t < what.batch; ++t) {
        std::vector<std::uint8_t> text(what.start().begin(), what.start().end());
        for (std::size_t i = 0; i < what.length; ++i) {
            const auto seen = std::span<const std::uint8_t>(text).subspan(window_start(text.size(), shape.context));
            const std::span<const float> logits = model.logits(parameters, seen, seen.size()).last(vocabulary);
            text.push_back(draw_byte(logits, what.temperature, {what.seed, t, i}));
        }
        result.emplace_back(text.begin() + static_cast<std::ptrdiff_t>(what.start().size()), text.end());
    }
    return result;
}

}  // namespace gpt
