// Layouts and groups: every operation on operands of every layout.
#include "graph/rows.hpp"

namespace {

namespace pl = plait;
using namespace pl::literals;
using rows::gives;
using rows::violates;
using pl::op;
using pl::rule;

constexpr auto M = pl::dim<"M">;
constexpr auto N = pl::dim<"N">;
constexpr auto mine = pl::tensor<"mine", float>(pl::local, M, N);
constexpr auto whole = pl::tensor<"whole", float>(pl::replicated, M, N);
constexpr auto upper = pl::tensor<"rows", float>(pl::sliced<0>, M, N);
constexpr auto left = pl::tensor<"columns", float>(pl::sliced<1>, M, N);
constexpr auto row = pl::tensor<"row", float>(pl::replicated, N);
constexpr auto my_row = pl::tensor<"my_row", float>(pl::local, N);
constexpr auto row_part = pl::tensor<"row_part", float>(pl::sliced<0>, N);

// [elementwise]
constexpr std::array elementwise = {
    gives(mine + mine, "f32 [M, N] local"),
    gives(mine + whole, "f32 [M, N] local"),
    gives(whole + whole, "f32 [M, N] replicated"),
    gives(whole + upper, "f32 [M, N] sliced<0>"),  // the whole value is read at the slice
    gives(upper + upper, "f32 [M, N] sliced<0>"),
    gives(left + left, "f32 [M, N] sliced<1>"),
    gives(left * row_part, "f32 [M, N] sliced<1>"),  // broadcast: dimension 0 of the row is dimension 1 of the result
    gives(upper * row, "f32 [M, N] sliced<0>"),
};
constexpr std::array elementwise_refused = {
    violates(rule::local_with_sliced, op::add, mine, upper),
    violates(rule::slice_mix, op::add, upper, left),
    violates(rule::slice_mix, op::add, upper, row_part),
};
// [/elementwise]
static_assert(rows::all_hold(elementwise) && rows::all_hold(elementwise_refused));

constexpr auto one_row = pl::tensor<"one_row", float>(pl::sliced<0>, 1_c, N);
constexpr std::array elementwise_more = {
    gives(whole + mine, "f32 [M, N] local"),
    gives(upper - whole, "f32 [M, N] sliced<0>"),
    gives(mine * my_row, "f32 [M, N] local"),
    gives(whole * my_row, "f32 [M, N] local"),
    gives(left * row, "f32 [M, N] sliced<1>"),
    gives(pl::sqrt(mine), "f32 [M, N] local"),
    gives(-left, "f32 [M, N] sliced<1>"),
    gives(pl::cast<pl::f16>(upper), "f16 [M, N] sliced<0>"),
    gives(upper > whole, "boolean [M, N] sliced<0>"),
    gives(pl::select(whole > 0_c, upper, row), "f32 [M, N] sliced<0>"),
    gives(pl::select(mine > 0_c, whole, 1_c), "f32 [M, N] local"),
    gives(pl::dropout(upper, 0.1_c, 3_c), "f32 [M, N] sliced<0>"),
    gives(pl::gelu(left), "f32 [M, N] sliced<1>"),
    gives(2_c * mine, "f32 [M, N] local"),
    gives(pl::scalar<"lr"> * upper, "f32 [M, N] sliced<0>"),
};
static_assert(rows::all_hold(elementwise_more));
constexpr std::array elementwise_refused_more = {
    violates(rule::local_with_sliced, op::add, left, mine),
    violates(rule::local_with_sliced, op::add, upper, my_row),
    violates(rule::local_with_sliced, op::select, whole, upper, mine),
    violates(rule::slice_mix, op::mul, row_part, upper),
    violates(rule::slice_broadcast, op::add, whole, one_row),
    violates(rule::slice_broadcast, op::add, one_row, mine),
};
static_assert(rows::all_hold(elementwise_refused_more));

// [reductions]
constexpr std::array reductions = {
    gives(pl::sum(mine), "f32 [] local"),
    gives(pl::sum(whole), "f32 [] replicated"),
    gives(pl::sum(upper), "f32 [] local"),  // one part on each rank: all_reduce it
    gives(pl::all_reduce(pl::sum, pl::sum(upper)), "f32 [] replicated"),
    gives(pl::sum(upper, pl::axis<0>), "f32 [N] local"),
    gives(pl::sum(upper, pl::axis<1>), "f32 [M] sliced<0>"),
    gives(pl::sum(left, pl::axis<0>), "f32 [N] sliced<0>"),
    gives(pl::sum(left, pl::axis<0>, pl::keep_dims), "f32 [1, N] sliced<1>"),
    gives(pl::sum(row_part, pl::per_tensor), "f32 [tensors(N)] local"),
    gives(pl::norm(mine), "f32 [] local"),
    gives(pl::norm(upper), "f32 [] replicated"),  // with the all_reduce in it
    gives(pl::norm(row_part, pl::per_tensor), "f32 [tensors(N)] replicated"),
    gives(pl::softmax(upper), "f32 [M, N] sliced<0>"),
    gives(pl::softmax(mine), "f32 [M, N] local"),
    gives(pl::layer_norm(upper, row, row, 1e-5_c), "f32 [M, N] sliced<0>"),
};
// [/reductions]
static_assert(rows::all_hold(reductions));

constexpr auto a = pl::tensor<"a", float>(pl::replicated, M, 64_c);
constexpr auto a_rows = pl::tensor<"a_rows", float>(pl::sliced<0>, M, 64_c);
constexpr auto a_columns = pl::tensor<"a_columns", float>(pl::sliced<1>, M, 64_c);
constexpr auto my_a = pl::tensor<"my_a", float>(pl::local, M, 64_c);
constexpr auto b = pl::tensor<"b", float>(pl::replicated, 64_c, N);
constexpr auto b_rows = pl::tensor<"b_rows", float>(pl::sliced<0>, 64_c, N);
constexpr auto b_columns = pl::tensor<"b_columns", float>(pl::sliced<1>, 64_c, N);
constexpr auto b_turned = pl::tensor<"b_turned", float>(pl::sliced<0>, N, 64_c);
constexpr auto batch = pl::tensor<"batch", float>(pl::sliced<0>, 8_c, M, 64_c);
constexpr auto image = pl::tensor<"image", float>(pl::replicated, M, 1_c, 8_c, 8_c);
constexpr auto images = pl::tensor<"images", float>(pl::sliced<0>, M, 1_c, 8_c, 8_c);
constexpr auto filter = pl::tensor<"filter", float>(pl::replicated, 4_c, 1_c, 3_c, 3_c);
constexpr auto filters = pl::tensor<"filters", float>(pl::sliced<0>, 4_c, 1_c, 3_c, 3_c);

constexpr auto tokens = pl::tensor<"tokens", std::int32_t>(pl::replicated, N, 4_c);
constexpr auto my_tokens = pl::tensor<"my_tokens", std::uint8_t>(pl::sliced<0>, N, 4_c);

// [contractions]
constexpr std::array contractions = {
    gives(pl::matmul(a, b), "f32 [M, N] replicated"),
    gives(pl::matmul(my_a, b), "f32 [M, N] local"),
    gives(pl::matmul(a_rows, b), "f32 [M, N] sliced<0>"),
    gives(pl::matmul(a, b_columns), "f32 [M, N] sliced<1>"),
    gives(pl::matmul(a_columns, b_rows), "f32 [M, N] local"),  // a partial sum on each rank: all_reduce it
    gives(pl::matmul(a, b_turned, pl::transposed_b), "f32 [M, N] sliced<1>"),
    gives(pl::matmul(batch, b), "f32 [8, M, N] sliced<0>"),
    gives(pl::conv2d(image, filter), "f32 [M, 4, 6, 6] replicated"),
    gives(pl::conv2d(images, filter), "f32 [M, 4, 6, 6] sliced<0>"),
    gives(pl::conv2d(image, filters), "f32 [M, 4, 6, 6] sliced<1>"),
    gives(pl::embedding(a, tokens), "f32 [N, 4, 64] replicated"),
    gives(pl::embedding(a, my_tokens), "f32 [N, 4, 64] sliced<0>"),
    gives(pl::embedding(a_columns, tokens), "f32 [N, 4, 64] sliced<2>"),
    gives(pl::embedding(a_rows, tokens), "f32 [N, 4, 64] local"),  // this rank's rows, zeros elsewhere: all_reduce it
};
constexpr std::array contractions_refused = {
    violates(rule::matmul_slices, op::matmul, a_columns, b),
    violates(rule::matmul_slices, op::matmul, a, b_rows),
    violates(rule::slice_mix, op::matmul, a_rows, b_columns),
    violates(rule::local_with_sliced, op::matmul, my_a, b_columns),
    violates(rule::conv2d_slices, op::conv2d, pl::attributes{pl::reduction::sum, 0, 1, 0}, images, filters),
    violates(rule::embedding, op::embedding, a_rows, my_tokens),
    violates(rule::embedding, op::embedding, a, b),
    violates(rule::slice_mix, op::embedding, a_columns, my_tokens),
};
// [/contractions]
static_assert(rows::all_hold(contractions) && rows::all_hold(contractions_refused));

// [collectives]
constexpr std::array collectives = {
    gives(pl::all_reduce(pl::sum, mine), "f32 [M, N] replicated"),
    gives(pl::reduce_scatter(pl::sum, mine), "f32 [M, N] sliced<0>"),
    gives(pl::reduce_scatter(pl::sum, mine, pl::axis<1>), "f32 [M, N] sliced<1>"),
    gives(pl::all_gather(upper), "f32 [M, N] replicated"),
    gives(pl::reduce(pl::sum, mine, pl::root<0>), "f32 [M, N] local"),  // zeros on the other ranks
    gives(pl::broadcast(mine, pl::root<0>), "f32 [M, N] replicated"),
    gives(pl::gather(upper, pl::root<0>), "f32 [M, N] local"),  // zeros on the other ranks
    gives(pl::scatter(mine, pl::root<0>), "f32 [M, N] sliced<0>"),
    gives(pl::all_to_all(upper, pl::axis<1>), "f32 [M, N] sliced<1>"),
    gives(pl::slice(whole), "f32 [M, N] sliced<0>"),
    gives(pl::slice(whole, pl::axis<-1>), "f32 [M, N] sliced<1>"),
    gives(pl::send(mine, pl::next_group), "f32 [M, N] local on group 1"),
    gives(pl::send(whole, pl::group<2>), "f32 [M, N] replicated on group 2"),
    gives(pl::send(upper, pl::next_group), "f32 [M, N] sliced<0> on group 1"),
};
// [/collectives]
static_assert(rows::all_hold(collectives));

/// What a collective makes of a local, a replicated and a sliced value: `none`, or the rule that it breaks.
struct refusals {
    op kind;
    int axis;
    rule of_local;
    rule of_replicated;
    rule of_sliced;
};
constexpr std::array collectives_refused = {
    refusals{op::all_reduce, 0, rule::none, rule::all_reduce, rule::all_reduce},
    refusals{op::reduce_scatter, 0, rule::none, rule::reduce_scatter, rule::reduce_scatter},
    refusals{op::all_gather, 0, rule::all_gather, rule::all_gather, rule::none},
    refusals{op::reduce_to_root, 0, rule::none, rule::reduce, rule::reduce},
    refusals{op::broadcast, 0, rule::none, rule::broadcast, rule::broadcast},
    refusals{op::gather, 0, rule::gather, rule::gather, rule::none},
    refusals{op::scatter, 1, rule::none, rule::scatter, rule::scatter},
    refusals{op::all_to_all, 1, rule::all_to_all, rule::all_to_all, rule::none},
    refusals{op::all_to_all, 0, rule::all_to_all, rule::all_to_all, rule::all_to_all},
    refusals{op::slice, 0, rule::slice, rule::none, rule::slice},
    refusals{op::scatter, 2, rule::axis, rule::axis, rule::axis},
    refusals{op::reduce_scatter, -3, rule::axis, rule::axis, rule::axis},
};
constexpr auto violations_of(const refusals& r)
{
    const pl::attributes attrs{pl::reduction::sum, r.axis, 0, 0};
    return std::array{violates(r.of_local, r.kind, attrs, mine), violates(r.of_replicated, r.kind, attrs, whole),
                      violates(r.of_sliced, r.kind, attrs, upper)};
}
constexpr bool all_refused()
{
    for (const refusals& r : collectives_refused) {
        if (!rows::all_hold(violations_of(r))) { return false; }
    }
    return true;
}
static_assert(all_refused());

constexpr auto there = pl::tensor<"there", float>(pl::replicated, pl::group<1>, M, N);
constexpr std::array groups = {
    gives(there + there, "f32 [M, N] replicated on group 1"),
    gives(there * 2_c, "f32 [M, N] replicated on group 1"),
    gives(1_c - there, "f32 [M, N] replicated on group 1"),
    gives(pl::scalar<"lr"> * there, "f32 [M, N] replicated on group 1"),
    gives(pl::send(whole, pl::next_group) + there, "f32 [M, N] replicated on group 1"),
    gives(pl::send(there, pl::previous_group) + whole, "f32 [M, N] replicated"),
    gives(pl::sum(there), "f32 [] replicated on group 1"),
    gives(pl::slice(there), "f32 [M, N] sliced<0> on group 1"),
    gives(pl::send(there, pl::next_group), "f32 [M, N] replicated on group 2"),
};
static_assert(rows::all_hold(groups));

constexpr auto sent = [](int group, bool relative) { return pl::attributes{pl::reduction::sum, 0, group, relative}; };
constexpr std::array groups_refused = {
    violates(rule::group_mix, op::add, whole, there),
    violates(rule::group_mix, op::select, whole, whole, there),
    violates(rule::group_mix, op::matmul, a, pl::send(b, pl::next_group)),
    violates(rule::group_mix, op::conv2d, pl::attributes{pl::reduction::sum, 0, 1, 0}, image,
             pl::send(filter, pl::next_group)),
    violates(rule::group_mix, op::update, whole, there),
    violates(rule::send, op::send, sent(0, false), whole),
    violates(rule::send, op::send, sent(1, false), there),
    violates(rule::send, op::send, sent(-1, true), whole),
    violates(rule::root, op::broadcast, sent(-1, false), mine),
};
static_assert(rows::all_hold(groups_refused));

// [updates]
constexpr std::array updates = {
    gives(pl::update(mine, my_row + mine), "f32 [M, N] local"),
    gives(pl::update(mine, whole), "f32 [M, N] local"),  // what all ranks have, each may keep
    gives(pl::update(whole, pl::all_gather(upper)), "f32 [M, N] replicated"),
    gives(pl::update(upper, pl::slice(whole)), "f32 [M, N] sliced<0>"),
    gives(pl::update(upper, 0_c), "f32 [M, N] sliced<0>"),
};
constexpr std::array updates_refused = {
    violates(rule::update_layout, op::update, whole, mine),   violates(rule::update_layout, op::update, whole, upper),
    violates(rule::update_layout, op::update, upper, whole),  violates(rule::update_layout, op::update, upper, left),
    violates(rule::update_layout, op::update, mine, upper),   violates(rule::update_layout, op::update, upper, mine),
    violates(rule::update_layout, op::update, whole, pl::sum(mine)),
};
// [/updates]
static_assert(rows::all_hold(updates) && rows::all_hold(updates_refused));

constexpr std::array updates_refused_more = {
    violates(rule::update_target, op::update, whole + 1_c, whole),
    violates(rule::update_target, op::update, pl::scalar<"lr">, 1_c),
    violates(rule::update_dtype, op::update, whole, pl::cast<double>(whole)),
    violates(rule::update_dtype, op::update, whole, whole > 0_c),
};
static_assert(rows::all_hold(updates_refused_more));

TEST_CASE("layouts: elementwise operations")
{
    rows::check(elementwise);
    rows::check(elementwise_more);
    rows::check(elementwise_refused);
    rows::check(elementwise_refused_more);
}
TEST_CASE("layouts: reductions and functions along a row") { rows::check(reductions); }
TEST_CASE("layouts: matmul and conv2d")
{
    rows::check(contractions);
    rows::check(contractions_refused);
}
TEST_CASE("layouts: collectives")
{
    rows::check(collectives);
    for (const refusals& r : collectives_refused) {
        CAPTURE(static_cast<int>(r.kind));
        rows::check(violations_of(r));
    }
}
TEST_CASE("groups: values stay on theirs until they are sent")
{
    rows::check(groups);
    rows::check(groups_refused);
}
TEST_CASE("layouts: updates")
{
    rows::check(updates);
    rows::check(updates_refused);
    rows::check(updates_refused_more);
}

}  // namespace
