// Programs as text.
#include <plait/schedule/schedule.hpp>

#include <doctest/doctest.h>

namespace {

namespace pl = plait;
using namespace pl::literals;

// [step]
constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", pl::f16>(pl::local, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto lr = pl::scalar<"lr">;

constexpr auto avg = pl::label<"avg">(pl::all_reduce(pl::sum, g) / pl::world_size);
constexpr auto step = pl::program<"step">(pl::update(p, p - lr * pl::cast<float>(avg)));
// [/step]

TEST_CASE("print: a program, one node a line")
{
    CHECK(pl::print(step) == R"(program "step"
  tensor p : f32 [N] replicated
  scalar lr : f32 [] replicated
  tensor g : f16 [N] local
  %3 = all_reduce<sum>(g) : f16 [N] replicated  "avg"
  %5 = div(%3, world_size) : f16 [N] replicated
  %6 = cast(%5) : f32 [N] replicated
  %7 = mul(lr, %6) : f32 [N] replicated
  %8 = sub(p, %7) : f32 [N] replicated
  %9 = update(p, %8) : f32 [N] replicated
)");
}

TEST_CASE("print: a schedule shows slices and what is fused")
{
    constexpr auto fused = step | pl::split<"avg"> | pl::reorder<"avg"> | pl::fuse;
    CHECK(pl::print(fused) == R"(program "step"
  tensor p : f32 [N] replicated
  scalar lr : f32 [] replicated
  tensor g : f16 [N] local
  %3 = reduce_scatter<sum><axis 0>(g) : f16 [N] sliced<0>  "avg"  fused
  %5 = div(%3, world_size) : f16 [N] sliced<0>
  %6 = cast(%5) : f32 [N] sliced<0>
  %7 = mul(lr, %6) : f32 [N] sliced<0>
  %8 = sub(p, %7) : f32 [N] sliced<0>
  %9 = all_gather(%8) : f32 [N] replicated  "avg"  fused
  %10 = update(p, %9) : f32 [N] replicated
)");
}

TEST_CASE("print: axes, roots, reductions and numbers")
{
    constexpr auto a = pl::tensor<"a", float>(pl::local, N, 3_c);
    constexpr auto s = pl::tensor<"s", float>(pl::sliced<1>, N, 3_c);
    constexpr auto joined = pl::broadcast(pl::reduce(pl::max, a, pl::root<2>), pl::root<2>);
    constexpr auto all =
        pl::program<"all">(pl::update(s, pl::slice(joined * -0.5_c, pl::axis<1>)),
                           pl::update(a, a + pl::mean(a, pl::axis<0>, pl::keep_dims) + pl::product(a)));
    CHECK(pl::print(all) == R"(program "all"
  tensor s : f32 [N, 3] sliced<1>
  tensor a : f32 [N, 3] local
  %2 = reduce<max><root 2>(a) : f32 [N, 3] local
  %3 = broadcast<root 2>(%2) : f32 [N, 3] replicated
  %5 = neg(0.5) : number [] replicated
  %6 = mul(%3, %5) : f32 [N, 3] replicated
  %7 = slice<axis 1>(%6) : f32 [N, 3] sliced<1>
  %8 = update(s, %7) : f32 [N, 3] sliced<1>
  %9 = reduce<mean><axis 0>(a) : f32 [1, 3] local
  %10 = add(a, %9) : f32 [N, 3] local
  %11 = reduce<product>(a) : f32 [] local
  %12 = add(%10, %11) : f32 [N, 3] local
  %13 = update(a, %12) : f32 [N, 3] local
)");
}

}  // namespace
