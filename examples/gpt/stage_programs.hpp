// What a pipeline stage computes between its attentions, as plait programs: once, and scheduled in three ways.
#pragma once

#include <plait/plait.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace gpt {

/// How a stage's programs run: as written; collectives in the kernels next to them, on slices of the width; that, and
/// in chunks, so that products and collectives overlap. All give the same bits.
enum class stage_schedule { unscheduled, fused, overlapped };

constexpr std::string_view name(stage_schedule kind)
{
    if (kind == stage_schedule::unscheduled) { return "unscheduled"; }
    return kind == stage_schedule::fused ? "fused" : "overlapped";
}

inline constexpr int most_groups = 8;

namespace stage {

namespace pl = plait;
using namespace plait::literals;

inline constexpr auto R = pl::dim<"R">;  // rows: bytes of all texts of a micro-batch
inline constexpr auto T = pl::dim<"T">;  // texts of a micro-batch
inline constexpr auto H = pl::dim<"H">;  // the width
inline constexpr auto Q = pl::dim<"Q">;  // queries, keys and values of all heads
inline constexpr auto K = pl::dim<"K">;  // what all heads mix
inline constexpr auto I = pl::dim<"I">;  // the inner width of the MLP
inline constexpr auto C = pl::dim<"C">;  // the context

inline constexpr auto x = pl::tensor<"x", float>(pl::replicated, R, H);  // the residual stream
inline constexpr auto gain = pl::tensor<"gain", float>(pl::replicated, H);
inline constexpr auto shift = pl::tensor<"shift", float>(pl::replicated, H);

/// As in GPT-2; plait::gelu is the exact one.
template <pl::expression X>
constexpr auto gelu_tanh(X v)
{
    return v * (1_c + pl::tanh(0.797884560802865_c * (v + 0.044715_c * v * v * v))) * 0.5_c;
}

/// x = rows of both tables, of which each rank has its slice.
struct embed {
    static constexpr auto bytes = pl::tensor<"bytes", float>(pl::sliced<0>, 256_c, H);
    static constexpr auto positions = pl::tensor<"positions", float>(pl::sliced<0>, C, H);
    static constexpr auto byte = pl::tensor<"byte", std::int32_t>(pl::replicated, R);
    static constexpr auto position = pl::tensor<"position", std::int32_t>(pl::replicated, R);
    static constexpr auto unscheduled = pl::program<"embed">(
        pl::update(x, pl::all_reduce(pl::sum, pl::embedding(bytes, byte) + pl::embedding(positions, position))));
};

/// Queries, keys and values of this rank's heads: no communication.
struct attention_in {
    static constexpr auto weight = pl::tensor<"weight", float>(pl::sliced<1>, H, Q);
    static constexpr auto bias = pl::tensor<"bias", float>(pl::sliced<0>, Q);
    static constexpr auto qkv = pl::tensor<"qkv", float>(pl::sliced<1>, R, Q);
    static constexpr auto unscheduled =
        pl::program<"attention_in">(pl::update(qkv, pl::matmul(pl::layer_norm(x, gain, shift, 1e-5_c), weight) + bias));
};

/// Attention's projection: partial products, joined by an all_reduce.
struct attention_out {
    static constexpr auto mixed = pl::tensor<"mixed", float>(pl::sliced<1>, R, K);
    static constexpr auto weight = pl::tensor<"weight", float>(pl::sliced<0>, K, H);
    static constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, H);
    static constexpr auto total = pl::label<"sum">(pl::all_reduce(pl::sum, pl::label<"mm">(pl::matmul(mixed, weight))));
    static constexpr auto unscheduled = pl::program<"attention_out">(pl::update(x, x + (total + bias)));
    static constexpr auto fused = unscheduled | pl::split<"sum", 1> | pl::reorder<"sum"> | pl::fuse;
    static constexpr auto overlapped = fused | pl::overlap<"mm", "sum">;
};

/// The MLP, the same way.
struct mlp {
    static constexpr auto up = pl::tensor<"up", float>(pl::sliced<1>, H, I);
    static constexpr auto up_bias = pl::tensor<"up_bias", float>(pl::sliced<0>, I);
    static constexpr auto down = pl::tensor<"down", float>(pl::sliced<0>, I, H);
    static constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, H);
    static constexpr auto inner = gelu_tanh(pl::matmul(pl::layer_norm(x, gain, shift, 1e-5_c), up) + up_bias);
    static constexpr auto product = pl::label<"mm">(pl::matmul(inner, down));
    static constexpr auto total = pl::label<"sum">(pl::all_reduce(pl::sum, product));
    static constexpr auto unscheduled = pl::program<"mlp">(pl::update(x, x + (total + bias)));
    static constexpr auto fused = unscheduled | pl::split<"sum", 1> | pl::reorder<"sum"> | pl::fuse;
    static constexpr auto overlapped = fused | pl::overlap<"mm", "sum">;
};

/// The same up to this rank's partial product: the rest is done on the way to the next group.
struct mlp_part {
    static constexpr auto part = pl::tensor<"part", float>(pl::local, R, H);
    static constexpr auto unscheduled = pl::program<"mlp_part">(pl::update(part, mlp::product));
};

/// The logits of each text's next byte.
struct head {
    static constexpr auto last = pl::tensor<"last", float>(pl::replicated, T, H);
    static constexpr auto weight = pl::tensor<"weight", float>(pl::sliced<1>, H, 256_c);
    static constexpr auto logits = pl::tensor<"logits", float>(pl::replicated, T, 256_c);
    static constexpr auto unscheduled = pl::program<"head">(
        pl::update(logits, pl::all_gather(pl::matmul(pl::layer_norm(last, gain, shift, 1e-5_c), weight))));
};

/// A name with a digit behind it.
template <pl::fixed_string Name, int Number>
inline constexpr pl::fixed_string numbered = [] {
    pl::fixed_string result = Name;
    result.text[Name.view().size()] = static_cast<char>('0' + Number);
    return result;
}();

/// What group `G` hands on: residual + all_reduce(part) + bias, of a micro-batch of its own.
template <int G>
struct handed_on {
    static constexpr auto rows = pl::dim<numbered<"R", G>>;
    static constexpr auto part = pl::tensor<numbered<"part", G>, float>(pl::local, pl::group<G>, rows, H);
    static constexpr auto residual = pl::tensor<numbered<"residual", G>, float>(pl::replicated, pl::group<G>, rows, H);
    static constexpr auto bias = pl::tensor<numbered<"bias", G>, float>(pl::replicated, pl::group<G>, H);
    static constexpr auto to = pl::tensor<numbered<"to", G>, float>(pl::replicated, pl::group<G + 1>, rows, H);
    static constexpr auto total = pl::label<numbered<"sum", G>>(pl::all_reduce(pl::sum, part));
    static constexpr auto sent = pl::label<numbered<"send", G>>(pl::send(residual + (total + bias), pl::next_group));
    static constexpr auto updated = pl::update(to, sent);

    /// reduce-scatter, the epilogue and the send of slices in one kernel; the receiving group gathers them.
    template <class Program>
    static constexpr auto sliced(Program program)
    {
        return program | pl::split<numbered<"sum", G>, 1> | pl::reorder<numbered<"sum", G>>;
    }
    template <class Program>
    static constexpr auto overlapped(Program program)
    {
        return program | pl::overlap<numbered<"sum", G>, numbered<"send", G>>;
    }
};

/// Between two ticks of a pipeline of `Groups` groups, at once: each group's result goes to the next group, the bytes
/// that the last group has drawn go to the first.
template <int Groups>
struct handover {
    static constexpr auto drawn = pl::tensor<"drawn", std::int32_t>(pl::replicated, pl::group<Groups - 1>, T);
    static constexpr auto back = pl::tensor<"back", std::int32_t>(pl::replicated, T);

    template <int... G>
    static constexpr auto program(std::integer_sequence<int, G...>)
    {
        return pl::program<"handover">(handed_on<G>::updated..., pl::update(back, pl::send(drawn, pl::group<0>)));
    }
    template <int G, class Program>
    static constexpr auto sliced_from(Program p)
    {
        if constexpr (G == Groups - 1) {
            return p;
        } else {
            return sliced_from<G + 1>(handed_on<G>::sliced(p));
        }
    }
    template <int G, class Program>
    static constexpr auto overlapped_from(Program p)
    {
        if constexpr (G == Groups - 1) {
            return p;
        } else {
            return overlapped_from<G + 1>(handed_on<G>::overlapped(p));
        }
    }
    static constexpr auto unscheduled = program(std::make_integer_sequence<int, Groups - 1>{});
    static constexpr auto fused = sliced_from<0>(unscheduled) | pl::fuse;
    static constexpr auto overlapped = overlapped_from<0>(fused);
};

}  // namespace stage

/// Makes the executable of `Program` under a schedule.
template <class Program, class Communicator>
plait::executable<Communicator> executable_of(Communicator& comm, stage_schedule kind)
{
    if constexpr (requires { Program::fused; }) {
        if (kind == stage_schedule::fused) { return {Program::fused, comm}; }
        if (kind == stage_schedule::overlapped) { return {Program::overlapped, comm}; }
    }
    return {Program::unscheduled, comm};
}

}  // namespace gpt
