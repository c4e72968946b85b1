// One rank's part of a model spread over pipeline groups and, in each group, over tensor-parallel ranks.
#pragma once

#include "cached_attention.hpp"
#include "slices.hpp"
#include "stage_programs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace gpt {

/// A range of layers.
struct layer_range {
    std::size_t first = 0;
    std::size_t last = 0;
};

/// The layers of a group: the first groups have one more where they do not divide.
inline layer_range layers_of(std::size_t layers, int group, int groups)
{
    const auto g = static_cast<std::size_t>(group);
    const auto n = static_cast<std::size_t>(groups);
    const std::size_t extra = layers % n;
    const std::size_t first = g * (layers / n) + std::min(g, extra);
    return {first, first + layers / n + (g < extra ? 1 : 0)};
}

/// Some texts of equal length, of which `rows` bytes each are new and stand at positions `first`, ... of the window.
struct micro_batch {
    std::size_t first_text = 0;
    std::size_t texts = 0;
    std::size_t first = 0;
    std::size_t rows = 0;

    std::size_t all_rows() const { return texts * rows; }
};

/// The part of one rank of a group. All ranks of the group make the same calls.
template <class Communicator>
class pipeline_stage {
  public:
    /// `parameters`, of the whole model, are read where they are and must stay. @pre the group has a layer.
    pipeline_stage(Communicator& comm, const model_shape& shape, std::span<const float> parameters, int group,
                   int groups, stage_schedule schedule, std::size_t texts)
        : shape_(shape),
          layout_(shape),
          parameters_(parameters),
          mine_(shape, comm.rank(), comm.size()),
          ranks_(comm.size()),
          is_first_(group == 0),
          is_last_(group == groups - 1)
    {
        const auto [first, last] = layers_of(shape.layers, group, groups);
        for (std::size_t l = first; l < last; ++l) {
            layers_.emplace_back(comm, slice_block(mine_, layout_.blocks[l], parameters), layout_.blocks[l],
                                 attention_cache(mine_, texts, shape.context), schedule, l + 1 < last || is_last_);
        }
        const float* p = parameters.data();
        if (is_first_) {
            embed_.emplace(stage::embed::unscheduled, comm);
            bytes_ = rows_of(p + layout_.bytes, shape.width, mine_.vocabulary_part);
            positions_ = rows_of(p + layout_.positions, shape.width, mine_.context_part);
        }
        if (is_last_) {
            head_.emplace(stage::head::unscheduled, comm);
            head_weight_ = columns_of(shape.width, p + layout_.head, vocabulary, mine_.vocabulary_part);
        }
    }

    /// The residual stream of a micro-batch: what the group is given, or made by embed(), and what work() makes of it.
    std::span<float> stream(const micro_batch& of) { return part(x_, of.all_rows() * shape_.width); }
    /// Where the group before puts the stream of the next micro-batch, and that it is there.
    std::span<float> incoming(const micro_batch& of) { return part(incoming_, of.all_rows() * shape_.width); }
    void arrived(const micro_batch& of) { std::ranges::copy(incoming(of), stream(of).begin()); }
    /// Where not on the last group: the rank's part of what is to be added to the stream, with bias().
    std::span<float> partial(const micro_batch& of) { return part(partial_, of.all_rows() * shape_.width); }
    std::span<const float> bias() const { return row(layers_.back().at.down_bias); }

    /// On the first group: begins with the texts' new bytes, one text after the other.
    void embed(const micro_batch& of, std::span<const std::uint8_t> bytes)
    {
        byte_.assign(bytes.begin(), bytes.end());
        position_.clear();
        for (std::size_t i = 0; i < of.all_rows(); ++i) {
            position_.push_back(static_cast<std::int32_t>(of.first + i % of.rows));
        }
        using p = stage::embed;
        (*embed_)(p::bytes = bytes_, p::positions = positions_, p::byte = byte_, p::position = position_,
                  stage::x = stream(of), stage::R = byte_.size(), stage::H = shape_.width, stage::C = shape_.context);
    }

    /// The group's layers.
    void work(const micro_batch& of)
    {
        for (layer& l : layers_) {
            attention(l, of);
            mlp(l, of);
        }
    }

    /// On the last group, after work(): 256 logits for the byte after each text.
    std::span<const float> logits(const micro_batch& of)
    {
        const std::size_t width = shape_.width;
        const std::span<float> last = part(last_, of.texts * width);
        const std::span<float> result = part(logits_, of.texts * vocabulary);
        for (std::size_t t = 0; t < of.texts; ++t) {
            std::copy_n(x_.data() + ((t + 1) * of.rows - 1) * width, width, last.data() + t * width);
        }
        using p = stage::head;
        (*head_)(p::last = last, stage::gain = row(layout_.final_gain), stage::shift = row(layout_.final_bias),
                 p::weight = head_weight_, p::logits = result, stage::T = of.texts, stage::H = width);
        return result;
    }

  private:
    using executable = plait::executable<Communicator>;

    struct layer {
        layer(Communicator& comm, block_slice slice, const block_places& places, attention_cache kept,
              stage_schedule schedule, bool whole)
            : weights(std::move(slice)),
              at(places),
              cache(std::move(kept)),
              attention_in(stage::attention_in::unscheduled, comm),
              attention_out(executable_of<stage::attention_out>(comm, schedule)),
              is_whole(whole),
              mlp(whole ? executable_of<stage::mlp>(comm, schedule) : executable_of<stage::mlp_part>(comm, schedule))
        {
        }
        block_slice weights;
        block_places at;
        attention_cache cache;
        executable attention_in, attention_out;
        bool is_whole;  ///< else the end of the MLP is left to the handover
        executable mlp;
    };

    void attention(layer& l, const micro_batch& of)
    {
        const std::size_t rows = of.all_rows();
        const std::span<float> qkv = part(qkv_, rows * mine_.qkv);
        const std::span<float> mixed = part(mixed_, rows * mine_.mixed);
        using in = stage::attention_in;
        l.attention_in(stage::x = stream(of), stage::gain = row(l.at.norm_1_gain), stage::shift = row(l.at.norm_1_bias),
                       in::weight = l.weights.qkv_weight, in::bias = l.weights.qkv_bias, in::qkv = qkv, stage::R = rows,
                       stage::H = shape_.width, stage::Q = whole(mine_.qkv));
        for (std::size_t t = 0; t < of.texts; ++t) {
            l.cache.attend(of.first_text + t, of.first, of.rows, qkv.data() + t * of.rows * mine_.qkv, mine_.qkv,
                           mixed.data() + t * of.rows * mine_.mixed, mine_.mixed);
        }
        using out = stage::attention_out;
        l.attention_out(out::mixed = mixed, out::weight = l.weights.projection, out::bias = row(l.at.projection_bias),
                        stage::x = stream(of), stage::R = rows, stage::H = shape_.width, stage::K = whole(mine_.mixed));
    }

    void mlp(layer& l, const micro_batch& of)
    {
        using p = stage::mlp;
        std::vector<plait::binding> given{stage::x = stream(of),
                                          stage::gain = row(l.at.norm_2_gain),
                                          stage::shift = row(l.at.norm_2_bias),
                                          p::up = l.weights.up,
                                          p::up_bias = l.weights.up_bias,
                                          p::down = l.weights.down,
                                          stage::R = of.all_rows(),
                                          stage::H = shape_.width,
                                          stage::I = mine_.inner_width()};
        given.push_back(l.is_whole ? p::bias = row(l.at.down_bias) : stage::mlp_part::part = partial(of));
        l.mlp.run(given);
    }

    /// One row of the parameters.
    std::span<const float> row(std::size_t at) const { return parameters_.subspan(at, shape_.width); }
    /// The extent of which every rank has so much.
    std::size_t whole(std::size_t each) const { return each * static_cast<std::size_t>(ranks_); }
    /// The front of a buffer that grows as needed. What is new are zeros.
    static std::span<float> part(std::vector<float>& buffer, std::size_t n)
    {
        if (buffer.size() < n) { buffer.resize(n); }
        return std::span(buffer).first(n);
    }

    model_shape shape_;
    parameter_layout layout_;
    std::span<const float> parameters_;
    tensor_slice mine_;
    int ranks_;
    bool is_first_, is_last_;
    std::deque<layer> layers_;
    std::optional<executable> embed_, head_;
    std::vector<float> bytes_, positions_, head_weight_;
    std::vector<std::int32_t> byte_, position_;
    std::vector<float> x_, incoming_, partial_, qkv_, mixed_, last_, logits_;
};

}  // namespace gpt
