// Launches of kernels that add up ranks by multicast, where memory and devices have it; else of the usual ones.
#pragma once

#include <plait/target/cuda/functions_of.cuh>
#include <plait/target/cuda/multicast_kernel.cuh>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plait::cuda {

namespace detail {

/// Whether a pass may add and store by multicast what these bits name. All ranks find the same.
inline bool can_multicast(const pass_build& b, std::uint64_t operands, std::uint64_t results)
{
    const arguments& args = b.args;
    if (b.multicast == nullptr || args.image().groups != 1) { return false; }
    const auto is_there = [&](int slot) {
        std::vector<std::byte*> all;
        for (int r = 0; r < args.ranks(); ++r) { all.push_back(args.buffer(slot, r).data); }
        return b.multicast->find(all) != nullptr;
    };
    // Ranks that each add up the whole could get different bits: an element must be one rank's.
    const bool whole = b.pass.kind == pass_kind::all_reduce ? !is_two_shot(args, b.slot_node(b.pass.operands[0].slot), true) : b.pass.slice_dim < 0;
    if (whole) { return false; }
    for (std::size_t i = 0; i < b.pass.operands.size(); ++i) {
        const pass_operand& o = b.pass.operands[i];
        if ((operands >> i & 1U) != 0 && (o.from != source::all_ranks || !is_there(o.slot))) { return false; }
    }
    for (std::size_t r = 0; r < b.pass.results.size(); ++r) {
        if ((results >> r & 1U) != 0 && !is_there(b.pass.results[r].slot)) { return false; }
    }
    return true;
}
/// Whether the device has the kernel's code, and not the empty one of older devices.
inline bool has_multimem_code(const void* kernel, const std::string& stage)
{
    cudaFuncAttributes loaded{};
    check(cudaFuncGetAttributes(&loaded, kernel), stage);
    return loaded.ptxVersion >= 90;
}

}  // namespace detail

/// A pass over elements, by multicast if that can be.
template <class Body>
void build_map_or_multicast(Body body, pass_build& b, int row_dims)
{
    using other = multicast_body<Body>;
    if constexpr (other::operands != 0 || other::results != 0) {
        const auto* kernel = reinterpret_cast<const void*>(&multicast_kernel<typename other::type>);
        if (detail::can_multicast(b, other::operands, other::results) && detail::has_multimem_code(kernel, b.stage)) {
            return build_map_by<typename other::type>(kernel, b, row_dims);
        }
    }
    build_map(body, b, row_dims);
}

template <class Lowered, int P>
void build_pass_or_multicast(pass_build& b)
{
    build_map_or_multicast(make_body<Lowered, P>(), b, row_dims(Lowered::graph, Lowered::plan, P));
}
template <class Lowered, int P>
constexpr pass_code multicast_code_of_pass()
{
    constexpr pass_kind kind = Lowered::plan.passes[P].kind;
    constexpr bool over_elements = !is_product(kind) && kind != pass_kind::embedding && kind != pass_kind::all_to_all && kind != pass_kind::reduce_axis;
    pass_code c = code_of_pass<Lowered, P>();
    if constexpr (over_elements) { c.build = &build_pass_or_multicast<Lowered, P>; }
    return c;
}

/// As functions_of, where communicators may offer multicast.
template <class Lowered>
inline constexpr auto multicast_functions_of = []<int... P>(std::integer_sequence<int, P...>) {
    return std::array<pass_code, sizeof...(P)>{multicast_code_of_pass<Lowered, P>()...};
}(std::make_integer_sequence<int, Lowered::plan.n_passes>{});

}  // namespace plait::cuda
