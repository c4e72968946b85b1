// Attention of the newest bytes of a text over the keys and values of all before them, which are kept.
#pragma once

#include "layers.hpp"
#include "slices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gpt {

/// Keys and values of one layer: of all texts, for this rank's heads.
class attention_cache {
  public:
    attention_cache(const tensor_slice& mine, std::size_t texts, std::size_t context)
        : heads_(mine.heads),
          head_width_(mine.head_width),
          context_(context),
          keys_(texts * heads_ * context * head_width_),
          values_(keys_.size())
    {
    }

    /// `rows` new bytes of text `text` at positions `first`, ...: keeps their keys and values, and writes what each
    /// mixes of those up to its own. A row of qkv has the heads' queries, then keys, then values.
    void attend(std::size_t text, std::size_t first, std::size_t rows, const float* qkv, std::size_t qkv_columns,
                float* mixed, std::size_t mixed_columns)
    {
        const std::size_t columns = heads_ * head_width_;
        const std::size_t seen = first + rows;
        const float scale = 1 / std::sqrt(static_cast<float>(head_width_));
        scores_.resize(rows * seen);
        for (std::size_t h = 0; h < heads_; ++h) {
            float* keys = keys_.data() + (text * heads_ + h) * context_ * head_width_;
            float* values = values_.data() + (text * heads_ + h) * context_ * head_width_;
            const float* mine = qkv + h * head_width_;
            copy_columns(rows, mine, qkv_columns, columns, head_width_, keys, head_width_, first * head_width_);
            copy_columns(rows, mine, qkv_columns, 2 * columns, head_width_, values, head_width_, first * head_width_);
            product(rows, seen, head_width_, dense_input(mine, qkv_columns),
                    dense_input<float>(keys, head_width_).transposed(), dense(scores_.data(), seen), scratch_);
            for (std::size_t i = 0; i < rows; ++i) {
                float* row = scores_.data() + i * seen;
                const std::size_t own = first + i + 1;
                for (std::size_t j = 0; j < own; ++j) { row[j] *= scale; }
                softmax(own, row);
                std::fill(row + own, row + seen, 0.0F);
            }
            product(rows, head_width_, seen, dense_input<float>(scores_.data(), seen),
                    dense_input<float>(values, head_width_), dense(mixed + h * head_width_, mixed_columns), scratch_);
        }
    }

  private:
    std::size_t heads_, head_width_, context_;
    std::vector<float> keys_, values_;
    std::vector<float> scores_;
    product_scratch scratch_;
};

}  // namespace gpt
