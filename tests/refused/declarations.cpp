// Dimensions, tensors and names that cannot be declared.
#include <plait/lang/elementwise.hpp>

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;

struct complex {
    float re, im;
};

#if defined(CASE_six_dimensions)
// refused six_dimensions: \\"w\\": 6 dimensions.*at most 5 dimensions, each a plait::dim or a positive literal such as 64_c
// everywhere six_dimensions: at most 5 dimensions, each a plait::dim or a positive literal such as 64_c
constexpr auto w = pl::tensor<"w", float>(pl::local, N, 2_c, 3_c, 4_c, 5_c, 6_c);
#elif defined(CASE_no_extent)
// refused no_extent: \\"w\\": 1 dimensions.*each a plait::dim or a positive literal such as 64_c
// everywhere no_extent: each a plait::dim or a positive literal such as 64_c
constexpr auto w = pl::tensor<"w", float>(pl::local, 0_c);
#elif defined(CASE_broken_extent)
// refused broken_extent: \\"w\\": 2 dimensions.*each a plait::dim or a positive literal such as 64_c
// everywhere broken_extent: each a plait::dim or a positive literal such as 64_c
constexpr auto w = pl::tensor<"w", float>(pl::local, N, 2.5_c);
#elif defined(CASE_bare_extent)
// refused bare_extent: \\"w\\": 1 dimensions.*each a plait::dim or a positive literal such as 64_c
// everywhere bare_extent: each a plait::dim or a positive literal such as 64_c
constexpr auto w = pl::tensor<"w", float>(pl::local, 64);
#elif defined(CASE_sliced_axis)
// refused sliced_axis: \\"w\\": sliced<2> of 2 dimensions.*the axis must be a dimension of the value
// everywhere sliced_axis: the axis must be a dimension of the value
constexpr auto w = pl::tensor<"w", float>(pl::sliced<2>, N, N);
#elif defined(CASE_element_type)
// refused element_type: plait: tensor<Name, T>: T is none of bool, std::uint8_t, std::int32_t, std::int64_t, f16
constexpr auto w = pl::tensor<"w", complex>(pl::local, N);
#elif defined(CASE_scalar_type)
// refused scalar_type: plait: scalar<Name, T>: T is none of bool, std::uint8_t, std::int32_t, std::int64_t, f16
constexpr auto w = pl::scalar<"w", complex>;
#elif defined(CASE_long_name)
// refused long_name: plait: a name has at most 31 characters; shorten it
constexpr auto w = pl::dim<"a name of two and thirty letters">;
#elif defined(CASE_cast_type)
// refused cast_type: plait: cast<T>: T is none of bool, std::uint8_t, std::int32_t, std::int64_t, f16
constexpr auto x = pl::tensor<"x", float>(pl::local, N);
constexpr auto w = pl::cast<complex>(x);
#endif
