// Contractions and functions along a row, of shapes or slices that they cannot take.
#include <plait/lang/composite.hpp>

namespace pl = plait;
using namespace pl::literals;

constexpr auto B = pl::dim<"B">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, B, 64_c);
constexpr auto columns = pl::tensor<"columns", float>(pl::sliced<1>, B, 64_c);
constexpr auto w = pl::tensor<"w", float>(pl::replicated, 64_c, 32_c);
constexpr auto image = pl::tensor<"image", float>(pl::replicated, B, 3_c, 32_c, 32_c);
constexpr auto filter = pl::tensor<"filter", float>(pl::replicated, 8_c, 3_c, 5_c, 5_c);

#if defined(CASE_matmul_inner)
// refused matmul_inner: \\"x\\", \\"w\\": matmul of \\"x\\" \(f32 \[B, 64\].*equal inner extents.*use transposed_a or transposed_b
// everywhere matmul_inner: equal inner extents
constexpr auto y = pl::matmul(x, w, pl::transposed_b);
#elif defined(CASE_matmul_vector)
// refused matmul_vector: \\"x\\", \\"v\\": matmul of.*matmul needs two dimensions or more on both sides
// everywhere matmul_vector: matmul needs two dimensions or more on both sides
constexpr auto v = pl::tensor<"v", float>(pl::replicated, 64_c);
constexpr auto y = pl::matmul(x, v);
#elif defined(CASE_matmul_batch)
// refused matmul_batch: \\"p\\", \\"q\\": matmul of.*leading dimensions that broadcast
// everywhere matmul_batch: leading dimensions that broadcast
constexpr auto p = pl::tensor<"p", float>(pl::replicated, 2_c, B, 64_c);
constexpr auto q = pl::tensor<"q", float>(pl::replicated, 3_c, 64_c, 32_c);
constexpr auto y = pl::matmul(p, q);
#elif defined(CASE_matmul_slices)
// refused matmul_slices: \\"columns\\", \\"w\\": matmul of \\"columns\\".*sliced on one side only; slice both sides along it
// everywhere matmul_slices: sliced on one side only; slice both sides along it
constexpr auto y = pl::matmul(columns, w);
#elif defined(CASE_matmul_of_integers)
// refused matmul_of_integers: \\"a\\": matmul of \\"a\\" \(i32.*not defined for this dtype
// everywhere matmul_of_integers: not defined for this dtype
constexpr auto a = pl::tensor<"a", std::int32_t>(pl::replicated, 4_c, 4_c);
constexpr auto y = pl::matmul(a, a);
#elif defined(CASE_conv2d_dims)
// refused conv2d_dims: \\"image\\", \\"x\\": conv2d of \\"image\\".*needs x\[N, C, H, W\] and w\[K, C, R, S\] with numbers for C, H, W, R, S
// everywhere conv2d_dims: with numbers for C, H, W, R, S
constexpr auto y = pl::conv2d(image, x);
#elif defined(CASE_conv2d_room)
// refused conv2d_room: \\"image\\", \\"large\\": conv2d of.*that fit each other, the padding and the stride
// everywhere conv2d_room: that fit each other, the padding and the stride
constexpr auto large = pl::tensor<"large", float>(pl::replicated, 8_c, 3_c, 33_c, 33_c);
constexpr auto y = pl::conv2d(image, large);
#elif defined(CASE_conv2d_slices)
// refused conv2d_slices: \\"tall\\", \\"filter\\": conv2d of \\"tall\\".*sliced<2>.*keeps slices of the batch .* or of the filters
// everywhere conv2d_slices: keeps slices of the batch .* or of the filters
constexpr auto tall = pl::tensor<"tall", float>(pl::sliced<2>, B, 3_c, 32_c, 32_c);
constexpr auto y = pl::conv2d(tall, filter);
#elif defined(CASE_embedding)
// refused embedding: \\"w\\", \\"x\\": embedding of \\"w\\".*and \\"x\\".*needs a table \[V, H\] and integer indices
// everywhere embedding: needs a table \[V, H\] and integer indices
constexpr auto y = pl::embedding(w, x);
#elif defined(CASE_embedding_slices)
// refused embedding_slices: \\"rows\\", \\"some\\": embedding of.*of a table whose rows are sliced, the indices are not
// everywhere embedding_slices: of a table whose rows are sliced, the indices are not
constexpr auto rows = pl::tensor<"rows", float>(pl::sliced<0>, 64_c, 32_c);
constexpr auto some = pl::tensor<"some", std::int32_t>(pl::sliced<0>, B);
constexpr auto y = pl::embedding(rows, some);
#elif defined(CASE_whole_row)
// refused whole_row: rows of \\"columns\\" \(f32 \[B, 64\] sliced<1>\).*need the whole row on each rank; all_gather first
// everywhere whole_row: need the whole row on each rank; all_gather first
constexpr auto y = pl::softmax(columns);
#elif defined(CASE_whole_row_of_a_norm)
// refused whole_row_of_a_norm: rows of \\"columns\\" \(f32 \[B, 64\] sliced<1>\).*slice along another dimension
// everywhere whole_row_of_a_norm: slice along another dimension
constexpr auto gamma_ = pl::tensor<"gamma", float>(pl::replicated, 64_c);
constexpr auto y = pl::rms_norm(columns, gamma_, 1e-5_c);
#endif
