// The code of docs/language.md.
#include "graph/inspect.hpp"
#include "graph/rows.hpp"

#include <plait/lang/program.hpp>

namespace {

namespace declarations {

// [declarations]
namespace pl = plait;
using namespace pl::literals;

constexpr auto B = pl::dim<"B">;  // a number bound at run time: the same wherever the name is the same
constexpr auto N = pl::dim<"N">;

constexpr auto g = pl::tensor<"g", pl::f16>(pl::local, B, N);               // each rank has its own values
constexpr auto w = pl::tensor<"w", float>(pl::replicated, N, 64_c);         // the same values on every rank
constexpr auto state = pl::tensor<"state", float>(pl::sliced<1>, B, N);     // rank i has part i of dimension 1
constexpr auto next = pl::tensor<"next", float>(pl::replicated, pl::group<1>, N);  // on pipeline group 1
constexpr auto one = pl::tensor<"one", float>(pl::replicated);              // without dimensions: one number
constexpr auto lr = pl::scalar<"lr">;                                       // a float given to each run
constexpr auto seed = pl::scalar<"seed", std::int64_t>;
// [/declarations]

constexpr std::array types = {
    rows::gives(g, "f16 [B, N] local"),
    rows::gives(w, "f32 [N, 64] replicated"),
    rows::gives(state, "f32 [B, N] sliced<1>"),
    rows::gives(next, "f32 [N] replicated on group 1"),
    rows::gives(one, "f32 [] replicated"),
    rows::gives(lr, "f32 [] replicated"),
    rows::gives(seed, "i64 [] replicated"),
};
static_assert(rows::all_hold(types));

}  // namespace declarations

namespace pl = plait;
using namespace pl::literals;
using rows::gives;

constexpr auto B = pl::dim<"B">;
constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, B, N);
constexpr auto h = pl::tensor<"h", pl::f16>(pl::replicated, B, N);
constexpr auto bias = pl::tensor<"bias", float>(pl::replicated, N);
constexpr auto weight = pl::tensor<"weight", float>(pl::replicated, N, 64_c);

constexpr std::array numbers = {
    // [numbers]
    gives(0.5_c * h, "f16 [B, N] replicated"),               // a number takes its partner's dtype
    gives(h / pl::world_size, "f16 [B, N] replicated"),      // the number of ranks is a number, too
    gives(h * x, "f32 [B, N] replicated"),                   // f16 with f32 gives f32
    gives(x > 1e-3_c, "boolean [B, N] replicated"),
    // [/numbers]
};
static_assert(rows::all_hold(numbers));

constexpr std::array shapes = {
    // [shapes]
    gives(x + bias, "f32 [B, N] replicated"),
    gives(x - pl::mean(x, pl::axis<-1>, pl::keep_dims), "f32 [B, N] replicated"),
    gives(pl::sum(x), "f32 [] replicated"),
    gives(pl::max(x, pl::axis<0>), "f32 [N] replicated"),
    gives(pl::matmul(x, weight), "f32 [B, 64] replicated"),
    gives(bias / pl::norm(bias, pl::per_tensor), "f32 [N] replicated"),
    // [/shapes]
};
static_assert(rows::all_hold(shapes));

// [program]
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto m = pl::tensor<"m", float>(pl::replicated, N);
constexpr auto g = pl::tensor<"g", float>(pl::local, N);

constexpr auto avg = pl::label<"avg">(pl::all_reduce(pl::sum, g) / pl::world_size);
constexpr auto m1 = pl::update(m, 0.9_c * m + avg);       // m is still the old value, m1 the new one
constexpr auto p1 = pl::update(p, p - 0.01_c * m1);
constexpr auto sgd = pl::program<"sgd">(p1, m1);
// [/program]

TEST_CASE("language: declarations, numbers, shapes")
{
    rows::check(declarations::types);
    rows::check(numbers);
    rows::check(shapes);
}

TEST_CASE("language: a program prints as what it is")
{
    static_assert(inspect::is_sound(sgd));
    CHECK(pl::print(sgd) == R"(program "sgd"
  tensor p : f32 [N] replicated
  tensor m : f32 [N] replicated
  tensor g : f32 [N] local
  %4 = mul(0.9, m) : f32 [N] replicated
  %6 = all_reduce<sum>(g) : f32 [N] replicated  "avg"
  %8 = div(%6, world_size) : f32 [N] replicated
  %9 = add(%4, %8) : f32 [N] replicated
  %10 = update(m, %9) : f32 [N] replicated
  %11 = mul(0.01, %10) : f32 [N] replicated
  %12 = sub(p, %11) : f32 [N] replicated
  %13 = update(p, %12) : f32 [N] replicated
)");
}

}  // namespace
