// Transformations that a program does not allow.
#include <plait/schedule/schedule.hpp>
#include <plait/tune/explore.hpp>

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto g = pl::tensor<"g", float>(pl::local, N);
constexpr auto p = pl::tensor<"p", float>(pl::replicated, N);
constexpr auto m = pl::tensor<"m", float>(pl::replicated, N);
constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N);
constexpr auto scale = pl::tensor<"scale", float>(pl::replicated);
constexpr auto avg = pl::label<"avg">(pl::all_reduce(pl::sum, g) / pl::world_size);
constexpr auto m1 = pl::update(m, 0.9_c * m + avg);
constexpr auto step = pl::program<"step">(pl::update(p, p - pl::label<"scaled">(m1 * scale)), m1);
constexpr auto moved = step | pl::split<"avg"> | pl::reorder<"avg">;

// An all_gather of a value that only another all_gather's consumers read.
constexpr auto joined = pl::label<"joined">(pl::all_gather(part));
constexpr auto copy = pl::program<"copy">(pl::update(p, joined));

// Two collectives with an unfused one in between.
constexpr auto first = pl::label<"first">(pl::all_reduce(pl::sum, g));
constexpr auto second = pl::label<"second">(pl::all_reduce(pl::sum, g * first));
constexpr auto third = pl::label<"third">(pl::all_reduce(pl::sum, g * second));
constexpr auto chain = pl::program<"chain">(pl::update(p, p + third));

#if defined(CASE_unknown_label_of_split)
// refused unknown_label_of_split: \\"avgg\\": split in program \\"step\\".*no operation of the program has this label
// everywhere unknown_label_of_split: no operation of the program has this label
constexpr auto s = step | pl::split<"avgg">;
#elif defined(CASE_unknown_label_of_reorder)
// refused unknown_label_of_reorder: \\"avgg\\": reorder in program \\"step\\".*label it where it is built: label<L>
// everywhere unknown_label_of_reorder: label it where it is built: label<L>
constexpr auto s = step | pl::reorder<"avgg">;
#elif defined(CASE_unknown_label_of_fuse)
// refused unknown_label_of_fuse: \\"avgg\\": fuse in program \\"step\\".*no operation of the program has this label
// everywhere unknown_label_of_fuse: no operation of the program has this label
constexpr auto s = step | pl::fuse_only<"avgg">;
#elif defined(CASE_split_target)
// refused split_target: \\"scaled\\": split of \\"scaled\\" .* made by mul.*needs the label of an all_reduce, reduce or broadcast
// everywhere split_target: needs the label of an all_reduce, reduce or broadcast
constexpr auto s = step | pl::split<"scaled">;
#elif defined(CASE_split_twice)
// refused split_twice: \\"avg\\": split of \\"avg\\" .* made by reduce_scatter.*needs the label of an all_reduce
// everywhere split_twice: needs the label of an all_reduce
constexpr auto s = step | pl::split<"avg"> | pl::split<"avg">;
#elif defined(CASE_split_of_one_number)
// refused split_of_one_number: \\"total\\": split of \\"total\\" \(f32 \[\] replicated\).*of a value with a dimension
// everywhere split_of_one_number: of a value with a dimension
constexpr auto total = pl::label<"total">(pl::all_reduce(pl::sum, pl::sum(g)));
constexpr auto s = pl::program<"total">(pl::update(p, p / total)) | pl::split<"total">;
#elif defined(CASE_split_axis)
// refused split_axis: \\"avg\\": split of \\"avg\\" .* along axis 1.*the axis must be a dimension of the value
// everywhere split_axis: the axis must be a dimension of the value
constexpr auto s = step | pl::split<"avg", 1>;
#elif defined(CASE_reorder_target)
// refused reorder_target: \\"avg\\": reorder of \\"avg\\".*needs the label of an all_gather or send; use split<L> on an all_reduce
// everywhere reorder_target: needs the label of an all_gather or send; use split<L> on an all_reduce
constexpr auto s = step | pl::reorder<"avg">;
#elif defined(CASE_reorder_illegal)
// refused reorder_illegal: \\"joined\\": reorder of \\"joined\\".*found no computation after the collective that can work on slices
// everywhere reorder_illegal: found no computation after the collective that can work on slices
constexpr auto s = copy | pl::reorder<"joined">;
#elif defined(CASE_reorder_illegal_contraction)
// refused reorder_illegal_contraction: \\"x\\": reorder of \\"x\\" .*, consumed by matmul.*or slice along another dimension
// everywhere reorder_illegal_contraction: or slice along another dimension
constexpr auto x = pl::label<"x">(pl::all_gather(pl::tensor<"columns", float>(pl::sliced<1>, N, 64_c)));
constexpr auto w = pl::tensor<"w", float>(pl::replicated, 64_c, 64_c);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N, 64_c);
constexpr auto s = pl::program<"product">(pl::update(y, pl::matmul(x, w))) | pl::reorder<"x">;
#elif defined(CASE_as_slice_target)
// refused as_slice_target: \\"q\\": as_slice: no such tensor in \\"step\\".*needs the name of a replicated tensor of the program
// everywhere as_slice_target: needs the name of a replicated tensor of the program
constexpr auto s = moved | pl::as_slice<"m", "q">;
#elif defined(CASE_as_slice_of_a_local_tensor)
// refused as_slice_of_a_local_tensor: \\"g\\": as_slice of \\"g\\" \(f32 \[N\] local\).*needs the name of a replicated tensor
// everywhere as_slice_of_a_local_tensor: needs the name of a replicated tensor
constexpr auto s = moved | pl::as_slice<"g">;
#elif defined(CASE_as_slice_of_one_number)
// refused as_slice_of_one_number: \\"scale\\": as_slice of \\"scale\\" \(f32 \[\] replicated\).*of the program with a dimension
// everywhere as_slice_of_one_number: of the program with a dimension
constexpr auto s = moved | pl::as_slice<"scale">;
#elif defined(CASE_as_slice_whole)
// refused as_slice_whole: \\"m\\": as_slice of \\"m\\".*: no slice of it is used.*reorder the collective that reads it first
// everywhere as_slice_whole: reorder the collective that reads it first
constexpr auto s = step | pl::as_slice<"m">;
#elif defined(CASE_fuse_target)
// refused fuse_target: \\"scaled\\": fuse in program \\"step\\".*needs a collective that has a computation next to it, and fuse_only<L> one with that label
// everywhere fuse_target: needs a collective that has a computation next to it, and fuse_only<L> one with that label
constexpr auto s = step | pl::fuse_only<"scaled">;
#elif defined(CASE_fuse_nothing)
// refused fuse_nothing: program \\"copy\\": fuse.*needs a collective that has a computation next to it, and fuse_only<L> one with that label
// everywhere fuse_nothing: needs a collective that has a computation next to it, and fuse_only<L> one with that label
constexpr auto s = copy | pl::fuse;
#elif defined(CASE_fuse_between)
// refused fuse_between: \\"third\\" .*: fused after a stage that depends on what is fused with it.*fuse that one too
// everywhere fuse_between: fuse that one too
constexpr auto s = chain | pl::fuse_only<"first", "third">;
#elif defined(CASE_overlap_unknown)
// refused overlap_unknown: \\"mm\\": overlap in program \\"step\\".*no operation of the program has this label
// everywhere overlap_unknown: no operation of the program has this label
constexpr auto s = step | pl::overlap<"avg", "mm">;
#elif defined(CASE_overlap_twice)
// refused overlap_twice: \\"second\\" .*: overlap, twice.*two stages or more that are in no other pipeline
// everywhere overlap_twice: two stages or more that are in no other pipeline
constexpr auto s = chain | pl::overlap<"first", "second"> | pl::overlap<"second", "third">;
#elif defined(CASE_schedule_of_a_refused_program)
// refused schedule_of_a_refused_program: \\"p\\", \\"part\\": update of.*a sliced value needs all_gather for a whole tensor
// everywhere schedule_of_a_refused_program: a sliced value needs all_gather for a whole tensor
constexpr auto s = pl::program<"prog">(pl::update(p, part)) | pl::split<"avg"> | pl::fuse;
#elif defined(CASE_one_error_for_a_schedule)
// refused one_error_for_a_schedule: \\"avgg\\": split in program \\"step\\".*no operation of the program has this label
// everywhere one_error_for_a_schedule: no operation of the program has this label
constexpr auto s = step | pl::split<"avgg"> | pl::reorder<"avgg"> | pl::as_slice<"m"> | pl::fuse;
constexpr auto found = pl::explore(s);
#elif defined(CASE_explore_more_than_asked)
// refused explore_more_than_asked: the program has more than Max schedules; give a larger Max
constexpr auto found = pl::explore<2>(step);
#endif
