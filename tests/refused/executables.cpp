// Programs without a kernel on the host, and buffers that cannot be bound.
#include <plait/plait.hpp>
#include <plait/tune/candidates.hpp>

#include <list>
#include <vector>

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);

#if defined(CASE_no_kernel_for_dropout)
// refused no_kernel_for_dropout: the result of dropout \(f32 \[N\] replicated\): dropout on the host.*no kernel on this target yet
// everywhere no_kernel_for_dropout: this operation has no kernel on this target yet
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"drop">(pl::update(x, pl::dropout(x, pl::sqrt(pl::scalar<"p", float>), 42_c))), comm};
}
#elif defined(CASE_overlap_of_an_all_reduce)
// refused overlap_of_an_all_reduce: \\"sum\\" \(f32 \[N, 8\] replicated\): overlap.*this one needs more than its chunk; split an all_reduce first
// everywhere overlap_of_an_all_reduce: this one needs more than its chunk; split an all_reduce first
constexpr auto a = pl::tensor<"a", float>(pl::local, N, 8_c);
constexpr auto w = pl::tensor<"w", float>(pl::replicated, 8_c, 8_c);
constexpr auto z = pl::tensor<"z", float>(pl::replicated, N, 8_c);
constexpr auto product = pl::label<"mm">(pl::matmul(a, w));
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, product));
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"product">(pl::update(z, sum)) | pl::overlap<"mm", "sum">, comm};
}
#elif defined(CASE_overlap_of_a_norm)
// refused overlap_of_a_norm: the result of reduce .*: overlap.*leave out what reduces, gathers or moves whole values
// everywhere overlap_of_a_norm: leave out what reduces, gathers or moves whole values
constexpr auto a = pl::tensor<"a", float>(pl::local, N, 8_c);
constexpr auto w = pl::tensor<"w", float>(pl::replicated, 8_c, 8_c);
constexpr auto h = pl::label<"mm">(pl::matmul(a, w));
constexpr auto next = pl::label<"next">(pl::matmul(h / pl::sum(h), w));
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"norm">(pl::update(a, next)) | pl::overlap<"mm", "next">, comm};
}
#elif defined(CASE_overlap_of_one_stage)
// refused overlap_of_one_stage: \\"sum\\" \(f32 \[N\] replicated\): overlap.*overlap needs two stages or more
// everywhere overlap_of_one_stage: overlap needs two stages or more
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto sum = pl::label<"sum">(pl::all_reduce(pl::sum, g));
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"one">(pl::update(x, sum * 2_c)) | pl::fuse | pl::overlap<"sum">, comm};
}
#elif defined(CASE_kernel_size)
// refused kernel_size: program \\"large\\": a kernel of 41 operands and 1 results.*make two programs of it
// everywhere kernel_size: at most 40 operands and 24 results; make two programs of it
template <int I>
constexpr auto factor = pl::tensor<pl::fixed_string{std::string_view{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM~OPQRSTUVWXYZ"}.substr(I, 1)},
                                   float>(pl::replicated, N);
template <int... I>
constexpr auto product(std::integer_sequence<int, I...>)
{
    return (factor<I> * ...);
}
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"large">(pl::update(x, product(std::make_integer_sequence<int, 41>{}))), comm};
}
#elif defined(CASE_refused_program)
// refused refused_program: \\"y\\", \\"part\\": update of.*a sliced value needs all_gather for a whole tensor
// everywhere refused_program: a sliced value needs all_gather for a whole tensor
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"prog">(pl::update(y, part)), comm};
    std::vector<float> values(4);
    run(y = values, part = values);
}
#elif defined(CASE_tune_other_buffers)
// refused tune_other_buffers: plait: tune: the schedules are bound to different buffers, as as_slice makes them; give schedules that store every tensor alike
constexpr auto mine = pl::tensor<"mine", float>(pl::local, N);
constexpr auto summed = pl::program<"summed">(pl::update(y, y + pl::label<"sum">(pl::all_reduce(pl::sum, mine))));
constexpr auto list = pl::candidates({"whole", "sliced"}, summed, summed | pl::split<"sum"> | pl::reorder<"sum"> | pl::as_slice<"y">);
#elif defined(CASE_scattered_range)
// refused scattered_range: plait: bind a tensor to a contiguous range \(std::span, std::vector\), a pointer, or a plait::scattered
void run(std::list<float>& values) { auto b = (x = values); }
#elif defined(CASE_scattered_elements)
// refused scattered_elements: plait: scattered: buffers of f16, bf16, float, double, bool
void run(std::vector<std::vector<long double>>& values) { pl::scattered pieces(values); }
#endif
