// Operations on values that do not fit each other.
#include <plait/lang/reductions.hpp>

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto M = pl::dim<"M">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, M);
constexpr auto matrix = pl::tensor<"matrix", float>(pl::replicated, M, N);
constexpr auto rows = pl::tensor<"rows", float>(pl::sliced<0>, M, N);
constexpr auto columns = pl::tensor<"columns", float>(pl::sliced<1>, M, N);
constexpr auto indices = pl::tensor<"indices", std::int32_t>(pl::replicated, N);
constexpr auto mask = pl::tensor<"mask", bool>(pl::replicated, N);

#if defined(CASE_bare_number)
// refused bare_number: a C\+\+ number in an expression.*a C\+\+ number has no value inside a type; write it as a literal such as 0.9_c
// everywhere bare_number: a C\+\+ number has no value inside a type; write it as a literal such as 0.9_c
constexpr auto z = 0.9 * x;
#elif defined(CASE_bare_number_of_a_function)
// refused bare_number_of_a_function: a C\+\+ number in an expression.*write it as a literal such as 0.9_c
// everywhere bare_number_of_a_function: write it as a literal such as 0.9_c
constexpr auto z = pl::max(x, 0);
#elif defined(CASE_literal_digits)
// refused literal_digits: 3.14159265358979323_c.*at most 15 significant digits; shorten it
// everywhere literal_digits: at most 15 significant digits; shorten it
constexpr auto z = x * 3.14159265358979323_c;
#elif defined(CASE_literal_base)
// refused literal_base: 0x10_c.*decimal digits with an optional point and exponent
// everywhere literal_base: decimal digits with an optional point and exponent
constexpr auto z = x * 0x10_c;
#elif defined(CASE_axis)
// refused axis: \\"matrix\\": reduce of \\"matrix\\".*the axis must be a dimension of the value; count from 0
// everywhere axis: the axis must be a dimension of the value; count from 0
constexpr auto z = pl::sum(matrix, pl::axis<2>);
#elif defined(CASE_axis_from_the_end)
// refused axis_from_the_end: \\"matrix\\": reduce of \\"matrix\\".*or from the end with -1
// everywhere axis_from_the_end: or from the end with -1
constexpr auto z = pl::sum(matrix, pl::axis<-3>);
#elif defined(CASE_dtype_of_a_root)
// refused dtype_of_a_root: \\"indices\\": sqrt of \\"indices\\" \(i32.*not defined for this dtype; cast<float>\(...\) it first
// everywhere dtype_of_a_root: not defined for this dtype; cast<float>\(...\) it first
constexpr auto z = pl::sqrt(indices);
#elif defined(CASE_dtype_of_a_sum)
// refused dtype_of_a_sum: \\"mask\\": reduce of \\"mask\\" \(boolean.*not defined for this dtype
// everywhere dtype_of_a_sum: not defined for this dtype
constexpr auto z = pl::sum(mask);
#elif defined(CASE_dtype_of_a_mean)
// refused dtype_of_a_mean: \\"indices\\": reduce of \\"indices\\" \(i32.*not defined for this dtype
// everywhere dtype_of_a_mean: not defined for this dtype
constexpr auto z = pl::mean(indices);
#elif defined(CASE_dtype_of_an_and)
// refused dtype_of_an_and: \\"x\\": and of \\"x\\" \(f32.*not defined for this dtype
// everywhere dtype_of_an_and: not defined for this dtype
constexpr auto z = mask && x;
#elif defined(CASE_dtype_mix)
// refused dtype_mix: \\"x\\", \\"indices\\": add of \\"x\\" \(f32.*and \\"indices\\" \(i32.*do not mix.*write cast<T>\(...\) on one operand
// everywhere dtype_mix: do not mix
constexpr auto z = x + indices;
#elif defined(CASE_dtype_mix_of_a_select)
// refused dtype_mix_of_a_select: \\"x\\", \\"indices\\": select of \\"x\\".*do not mix
// everywhere dtype_mix_of_a_select: do not mix
constexpr auto z = pl::select(mask, x, indices);
#elif defined(CASE_shape_mix)
// refused shape_mix: \\"x\\", \\"y\\": mul of \\"x\\" \(f32 \[N\] replicated\) and \\"y\\" \(f32 \[M\].*shapes broadcast from the last dimension
// everywhere shape_mix: shapes broadcast from the last dimension
constexpr auto z = x * y;
#elif defined(CASE_shape_mix_of_a_result)
// refused shape_mix_of_a_result: the result of sqrt, \\"y\\": add of the result of sqrt.*shapes broadcast from the last
// everywhere shape_mix_of_a_result: shapes broadcast from the last
constexpr auto z = pl::sqrt(matrix) + y;
#elif defined(CASE_slice_mix)
// refused slice_mix: \\"rows\\", \\"columns\\": add of \\"rows\\".*sliced<0>.*sliced<1>.*sliced along different dimensions; all_gather one
// everywhere slice_mix: sliced along different dimensions; all_gather one
constexpr auto z = rows + columns;
#elif defined(CASE_slice_broadcast)
// refused slice_broadcast: \\"matrix\\", \\"one\\": add of.*a sliced dimension cannot be broadcast; all_gather the operand first
// everywhere slice_broadcast: a sliced dimension cannot be broadcast; all_gather the operand first
constexpr auto one = pl::tensor<"one", float>(pl::sliced<0>, 1_c, N);
constexpr auto z = matrix + one;
#elif defined(CASE_local_with_sliced)
// refused local_with_sliced: \\"rows\\", \\"mine\\": add of.*a local value is whole on every rank and does not mix with a sliced one
// everywhere local_with_sliced: a local value is whole on every rank and does not mix with a sliced one
constexpr auto mine = pl::tensor<"mine", float>(pl::local, M, N);
constexpr auto z = rows + mine;
#elif defined(CASE_group_mix)
// refused group_mix: \\"x\\", \\"next\\": add of.*on group 1.*different pipeline groups; send one of them first
// everywhere group_mix: different pipeline groups; send one of them first
constexpr auto next = pl::tensor<"next", float>(pl::replicated, pl::group<1>, N);
constexpr auto z = x + next;
#elif defined(CASE_select)
// refused select: \\"x\\": select of \\"x\\".*needs a boolean condition; compare first, e.g. x > 0_c
// everywhere select: needs a boolean condition; compare first, e.g. x > 0_c
constexpr auto z = pl::select(x, x, 0_c);
#elif defined(CASE_dropout_of_integers)
// refused dropout_of_integers: \\"indices\\": dropout of \\"indices\\".*needs a floating-point x, a probability p and an integer seed
// everywhere dropout_of_integers: needs a floating-point x, a probability p and an integer seed
constexpr auto z = pl::dropout(indices, 0.1_c, 7_c);
#elif defined(CASE_dropout_with_a_float_seed)
// refused dropout_with_a_float_seed: \\"x\\": dropout of \\"x\\".*an integer seed
// everywhere dropout_with_a_float_seed: an integer seed
constexpr auto z = pl::dropout(x, 0.1_c, pl::scalar<"seed", float>);
#elif defined(CASE_per_tensor_of_two_dimensions)
// refused per_tensor_of_two_dimensions: \\"matrix\\": reduce_per_tensor of \\"matrix\\".*exactly one dimension, and that a plait::dim
// everywhere per_tensor_of_two_dimensions: exactly one dimension, and that a plait::dim
constexpr auto z = pl::sum(matrix, pl::per_tensor);
#elif defined(CASE_per_tensor_of_a_number)
// refused per_tensor_of_a_number: \\"eight\\": reduce_per_tensor of \\"eight\\" \(f32 \[8\].*and that a plait::dim
// everywhere per_tensor_of_a_number: and that a plait::dim
constexpr auto eight = pl::tensor<"eight", float>(pl::replicated, 8_c);
constexpr auto z = pl::sum(eight, pl::per_tensor);
#elif defined(CASE_one_error_for_all_that_follows)
// refused one_error_for_all_that_follows: \\"x\\", \\"y\\": mul of.*shapes broadcast from the last dimension
// everywhere one_error_for_all_that_follows: shapes broadcast from the last dimension
constexpr auto first = x * y;
constexpr auto second = pl::sqrt(first) + x;
constexpr auto third = pl::sum(second * indices) / first;
#endif
