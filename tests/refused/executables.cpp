// Programs without a kernel on the host, and buffers that cannot be bound.
#include <plait/fabric/threads.hpp>
#include <plait/lang/program.hpp>
#include <plait/run/executable.hpp>

#include <list>
#include <vector>

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);

#if defined(CASE_no_kernel_for_matmul)
// refused no_kernel_for_matmul: the result of matmul \(f32 \[N, 8\] replicated\): matmul on the host.*no kernel on this target yet
// everywhere no_kernel_for_matmul: this operation has no kernel on this target yet
constexpr auto a = pl::tensor<"a", float>(pl::replicated, N, 8_c);
constexpr auto w = pl::tensor<"w", float>(pl::replicated, 8_c, 8_c);
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"product">(pl::update(a, pl::matmul(a, w))), comm};
}
#elif defined(CASE_no_kernel_for_conv2d)
// refused no_kernel_for_conv2d: the result of conv2d .*: conv2d on the host.*no kernel on this target yet
// everywhere no_kernel_for_conv2d: this operation has no kernel on this target yet
constexpr auto image = pl::tensor<"image", float>(pl::replicated, N, 1_c, 8_c, 8_c);
constexpr auto filter = pl::tensor<"filter", float>(pl::replicated, 1_c, 1_c, 3_c, 3_c);
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"image">(pl::update(image, pl::conv2d(image, filter, pl::stride<1>, pl::padding<1>))), comm};
}
#elif defined(CASE_no_kernel_for_send)
// refused no_kernel_for_send: \\"sent\\" .*: send on the host.*no kernel on this target yet
// everywhere no_kernel_for_send: this operation has no kernel on this target yet
constexpr auto next = pl::tensor<"next", float>(pl::replicated, pl::group<1>, N);
void run(pl::thread_communicator& comm)
{
    pl::executable run{pl::program<"pipeline">(pl::update(next, pl::label<"sent">(pl::send(x, pl::next_group)))), comm};
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
#elif defined(CASE_scattered_range)
// refused scattered_range: plait: bind a tensor to a contiguous range \(std::span, std::vector\), a pointer, or a plait::scattered
void run(std::list<float>& values) { auto b = (x = values); }
#elif defined(CASE_scattered_elements)
// refused scattered_elements: plait: scattered: buffers of f16, bf16, float, double, bool
void run(std::vector<std::vector<long double>>& values) { pl::scattered pieces(values); }
#endif
