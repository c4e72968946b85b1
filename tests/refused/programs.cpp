// Updates, labels and outputs that do not make a program.
#include <plait/lang/program.hpp>

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", pl::f16>(pl::local, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto m = pl::tensor<"m", float>(pl::replicated, N);
constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);
constexpr auto total = pl::all_reduce(pl::sum, g);

#if defined(CASE_update_target)
// refused update_target: \\"lr\\", \\"p\\": update of \\"lr\\".*its first argument must be a plait::tensor
// everywhere update_target: its first argument must be a plait::tensor
constexpr auto u = pl::update(pl::scalar<"lr">, p);
#elif defined(CASE_update_dtype)
// refused update_dtype: \\"p\\", the result of all_reduce: update of \\"p\\" \(f32.*f16.*the tensor's own dtype; write cast<T>\(value\)
// everywhere update_dtype: the tensor's own dtype; write cast<T>\(value\)
constexpr auto u = pl::update(p, total);
#elif defined(CASE_update_shape)
// refused update_shape: \\"p\\", \\"square\\": update of \\"p\\" \(f32 \[N\].*a value of the tensor's own shape
// everywhere update_shape: a value of the tensor's own shape
constexpr auto square = pl::tensor<"square", float>(pl::replicated, N, N);
constexpr auto u = pl::update(p, square);
#elif defined(CASE_update_layout_sliced)
// refused update_layout_sliced: \\"p\\", \\"part\\": update of.*sliced<0>.*a sliced value needs all_gather for a whole tensor
// everywhere update_layout_sliced: a sliced value needs all_gather for a whole tensor
constexpr auto u = pl::update(p, part);
#elif defined(CASE_update_layout_local)
// refused update_layout_local: \\"p\\", the result of cast: update of.*local.*a local value needs all_reduce for a replicated one
// everywhere update_layout_local: a local value needs all_reduce for a replicated one
constexpr auto u = pl::update(p, pl::cast<float>(g));
#elif defined(CASE_update_layout_whole)
// refused update_layout_whole: \\"part\\", \\"p\\": update of.*a whole value needs slice\(...\) for a sliced one
// everywhere update_layout_whole: a whole value needs slice\(...\) for a sliced one
constexpr auto u = pl::update(part, p);
#elif defined(CASE_update_twice)
// refused update_twice: \\"p\\" \(f32 \[N\] replicated\): updated twice.*updated at most once in a program; combine the updates
// everywhere update_twice: updated at most once in a program; combine the updates
constexpr auto prog = pl::program<"prog">(pl::update(p, p + 1_c), pl::update(p, p * 2_c));
#elif defined(CASE_update_hidden)
// refused update_hidden: \\"m\\" \(f32 \[N\] replicated\): no output.*must be an output of its program; add it to the outputs
// everywhere update_hidden: must be an output of its program; add it to the outputs
constexpr auto m1 = pl::update(m, m * 0.9_c);
constexpr auto prog = pl::program<"prog">(pl::update(p, p - m1));
#elif defined(CASE_output)
// refused output: the result of add.*: an output.*a program's outputs are updates of tensors; write update\(tensor, value\)
// everywhere output: a program's outputs are updates of tensors; write update\(tensor, value\)
constexpr auto prog = pl::program<"prog">(p + m);
#elif defined(CASE_name_twice_layout)
// refused name_twice_layout: \\"p\\" \(f32 \[N\] local\): declared twice.*one name means one thing in a program.*rename one
// everywhere name_twice_layout: one name means one thing in a program
constexpr auto other = pl::tensor<"p", float>(pl::local, N);
constexpr auto prog = pl::program<"prog">(pl::update(m, p + pl::all_reduce(pl::sum, other)));
#elif defined(CASE_name_twice_shape)
// refused name_twice_shape: \\"p\\" \(f32 \[1\] replicated\): declared twice.*one name means one thing in a program.*rename one
// everywhere name_twice_shape: one name means one thing in a program
constexpr auto other = pl::tensor<"p", float>(pl::replicated, 1_c);
constexpr auto prog = pl::program<"prog">(pl::update(m, p + other));
#elif defined(CASE_name_twice_kind)
// refused name_twice_kind: \\"p\\" \(f32 \[\] replicated\): declared twice.*one name means one thing in a program.*rename one
// everywhere name_twice_kind: one name means one thing in a program
constexpr auto prog = pl::program<"prog">(pl::update(m, p + pl::scalar<"p">));
#elif defined(CASE_name_of_dimension)
// refused name_of_dimension: \\"N\\" \(f32 \[\] replicated\): also the name of a dimension.*one name means one thing in a program
// everywhere name_of_dimension: one name means one thing in a program
constexpr auto prog = pl::program<"prog">(pl::update(m, p * pl::scalar<"N">));
#elif defined(CASE_label_twice)
// refused label_twice: \\"sum\\": label of .*use another label for the other one
// everywhere label_twice: use another label for the other one
constexpr auto h = pl::tensor<"h", pl::f16>(pl::local, N);
constexpr auto both = pl::label<"sum">(total) + pl::label<"sum">(pl::all_reduce(pl::sum, h));
constexpr auto prog = pl::program<"prog">(pl::update(p, pl::cast<float>(both)));
#elif defined(CASE_label_twice_on_one)
// refused label_twice_on_one: \\"second\\": label of .*a label names one operation
// everywhere label_twice_on_one: a label names one operation
constexpr auto both = pl::label<"first">(total) + pl::label<"second">(total / pl::world_size);
constexpr auto prog = pl::program<"prog">(pl::update(p, pl::cast<float>(both)));
#elif defined(CASE_label_target)
// refused label_target: \\"x\\": label of \\"p\\" \(f32 \[N\] replicated\).*a tensor or scalar has its own name already
// everywhere label_target: a tensor or scalar has its own name already
constexpr auto x = pl::label<"x">(p);
#elif defined(CASE_label_many)
// refused label_many: \\"both\\": label of .*this value is computed from several; label each where it is built
// everywhere label_many: this value is computed from several; label each where it is built
constexpr auto both = pl::label<"both">(total + pl::all_reduce(pl::max, g));
constexpr auto prog = pl::program<"prog">(pl::update(p, pl::cast<float>(both)));
#elif defined(CASE_program_of_a_refused_update)
// refused program_of_a_refused_update: \\"p\\", \\"part\\": update of.*a sliced value needs all_gather for a whole tensor
// everywhere program_of_a_refused_update: a sliced value needs all_gather for a whole tensor
constexpr auto prog = pl::program<"prog">(pl::update(m, m + 1_c), pl::update(p, part));
#endif
