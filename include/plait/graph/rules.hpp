// What each rule says when it is violated: one literal each, stating the rule and the fix. docs/rules.md has them all.
#pragma once

#include <plait/graph/rule.hpp>

namespace plait::detail {

template <auto Message>
constexpr bool holds = false;

// The literals: what a compiler prints where it cannot print the computed message as text.
template <rule R, auto Message>
struct assert_rule;

template <auto Message>
struct assert_rule<rule::bare_number, Message> {
    static_assert(holds<Message>, "plait: a C++ number has no value inside a type; write it as a literal such as 0.9_c (using "
                  "namespace plait::literals), or declare a plait::scalar for a value given at run time");
};
template <auto Message>
struct assert_rule<rule::literal, Message> {
    static_assert(holds<Message>, "plait: a number literal is decimal digits with an optional point and exponent, at most 15 "
                  "significant digits; shorten it or use a plait::scalar");
};
template <auto Message>
struct assert_rule<rule::dims, Message> {
    static_assert(holds<Message>, "plait: a tensor has at most 5 dimensions, each a plait::dim or a positive literal such as 64_c");
};
template <auto Message>
struct assert_rule<rule::axis, Message> {
    static_assert(holds<Message>, "plait: the axis must be a dimension of the value; count from 0, or from the end with -1");
};
template <auto Message>
struct assert_rule<rule::dtype, Message> {
    static_assert(holds<Message>, "plait: the operation is not defined for this dtype; cast<float>(...) it first");
};
template <auto Message>
struct assert_rule<rule::dtype_mix, Message> {
    static_assert(holds<Message>, "plait: these dtypes do not mix (floating point with integer, or boolean with a number); write "
                  "cast<T>(...) on one operand");
};
template <auto Message>
struct assert_rule<rule::shape_mix, Message> {
    static_assert(holds<Message>, "plait: shapes broadcast from the last dimension: extents must be the same number, the same "
                  "plait::dim, or 1; reshape the declaration of one operand");
};
template <auto Message>
struct assert_rule<rule::slice_mix, Message> {
    static_assert(holds<Message>, "plait: two operands are sliced along different dimensions; all_gather one, or slice both "
                  "along the same dimension");
};
template <auto Message>
struct assert_rule<rule::slice_broadcast, Message> {
    static_assert(holds<Message>, "plait: a sliced dimension cannot be broadcast; all_gather the operand first");
};
template <auto Message>
struct assert_rule<rule::local_with_sliced, Message> {
    static_assert(holds<Message>, "plait: a local value is whole on every rank and does not mix with a sliced one; "
                  "reduce_scatter the local one or all_gather the sliced one");
};
template <auto Message>
struct assert_rule<rule::group_mix, Message> {
    static_assert(holds<Message>, "plait: operands live on different pipeline groups; send one of them first");
};
template <auto Message>
struct assert_rule<rule::all_reduce, Message> {
    static_assert(holds<Message>, "plait: all_reduce combines local values; a replicated value is already equal on every rank "
                  "(use it as it is) and a sliced one needs all_gather");
};
template <auto Message>
struct assert_rule<rule::reduce_scatter, Message> {
    static_assert(holds<Message>, "plait: reduce_scatter combines local values; take a slice of a replicated one with slice(...)");
};
template <auto Message>
struct assert_rule<rule::all_gather, Message> {
    static_assert(holds<Message>, "plait: all_gather joins the slices of a sliced value; this value is whole already: use it as "
                  "it is");
};
template <auto Message>
struct assert_rule<rule::reduce, Message> {
    static_assert(holds<Message>, "plait: reduce combines local values on the root; a replicated value needs no reduce and a "
                  "sliced one needs gather");
};
template <auto Message>
struct assert_rule<rule::broadcast, Message> {
    static_assert(holds<Message>, "plait: broadcast sends the root's local value to every rank; a replicated value is there "
                  "already and a sliced one needs all_gather");
};
template <auto Message>
struct assert_rule<rule::gather, Message> {
    static_assert(holds<Message>, "plait: gather joins the slices of a sliced value on the root; a whole value needs none");
};
template <auto Message>
struct assert_rule<rule::scatter, Message> {
    static_assert(holds<Message>, "plait: scatter hands the root's local value out in slices; take slice(...) of a replicated one");
};
template <auto Message>
struct assert_rule<rule::all_to_all, Message> {
    static_assert(holds<Message>, "plait: all_to_all moves a sliced value's slicing to another dimension; give it a sliced value "
                  "and another axis");
};
template <auto Message>
struct assert_rule<rule::slice, Message> {
    static_assert(holds<Message>, "plait: slice takes each rank's part of a replicated value; a sliced one is sliced already and "
                  "a local one needs reduce_scatter or scatter");
};
template <auto Message>
struct assert_rule<rule::send, Message> {
    static_assert(holds<Message>, "plait: send moves a value to another pipeline group; use plait::next_group or another group's "
                  "number");
};
template <auto Message>
struct assert_rule<rule::root, Message> {
    static_assert(holds<Message>, "plait: the root is a rank, counted from 0; write plait::root<0>");
};
template <auto Message>
struct assert_rule<rule::select, Message> {
    static_assert(holds<Message>, "plait: select(condition, a, b) needs a boolean condition; compare first, e.g. x > 0_c");
};
template <auto Message>
struct assert_rule<rule::dropout, Message> {
    static_assert(holds<Message>, "plait: dropout(x, p, seed) needs a floating-point x, a probability p and an integer seed, "
                  "both without dimensions");
};
template <auto Message>
struct assert_rule<rule::whole_row, Message> {
    static_assert(holds<Message>, "plait: softmax and the norms along a row need the whole row on each rank; all_gather first or "
                  "slice along another dimension");
};
template <auto Message>
struct assert_rule<rule::per_tensor, Message> {
    static_assert(holds<Message>, "plait: a reduction per tensor needs a value with exactly one dimension, and that a plait::dim");
};
template <auto Message>
struct assert_rule<rule::matmul_dims, Message> {
    static_assert(holds<Message>, "plait: matmul needs two dimensions or more on both sides, equal inner extents and leading "
                  "dimensions that broadcast; use transposed_a or transposed_b");
};
template <auto Message>
struct assert_rule<rule::matmul_slices, Message> {
    static_assert(holds<Message>, "plait: matmul contracts a dimension that is sliced on one side only; slice both sides along "
                  "it, or all_gather the sliced one");
};
template <auto Message>
struct assert_rule<rule::conv2d_dims, Message> {
    static_assert(holds<Message>, "plait: conv2d needs x[N, C, H, W] and w[K, C, R, S] with numbers for C, H, W, R, S that fit "
                  "each other, the padding and the stride");
};
template <auto Message>
struct assert_rule<rule::conv2d_slices, Message> {
    static_assert(holds<Message>, "plait: conv2d keeps slices of the batch (x, dimension 0) or of the filters (w, dimension 0) "
                  "alone; all_gather the operand first");
};
template <auto Message>
struct assert_rule<rule::embedding, Message> {
    static_assert(holds<Message>, "plait: embedding needs a table [V, H] and integer indices of at most 4 dimensions; of a table "
                  "whose rows are sliced, the indices are not");
};
template <auto Message>
struct assert_rule<rule::update_target, Message> {
    static_assert(holds<Message>, "plait: update(t, value) writes a tensor; its first argument must be a plait::tensor");
};
template <auto Message>
struct assert_rule<rule::update_dtype, Message> {
    static_assert(holds<Message>, "plait: update stores a value of the tensor's own dtype; write cast<T>(value)");
};
template <auto Message>
struct assert_rule<rule::update_shape, Message> {
    static_assert(holds<Message>, "plait: update stores a value of the tensor's own shape");
};
template <auto Message>
struct assert_rule<rule::update_layout, Message> {
    static_assert(holds<Message>, "plait: update needs the tensor's layout: a sliced value needs all_gather for a whole tensor, "
                  "a local value needs all_reduce for a replicated one, and a whole value needs slice(...) for a "
                  "sliced one");
};
template <auto Message>
struct assert_rule<rule::update_twice, Message> {
    static_assert(holds<Message>, "plait: a tensor is updated at most once in a program; combine the updates into one value");
};
template <auto Message>
struct assert_rule<rule::update_hidden, Message> {
    static_assert(holds<Message>, "plait: an update that another value reads must be an output of its program; add it to the "
                  "outputs");
};
template <auto Message>
struct assert_rule<rule::output, Message> {
    static_assert(holds<Message>, "plait: a program's outputs are updates of tensors; write update(tensor, value)");
};
template <auto Message>
struct assert_rule<rule::name_twice, Message> {
    static_assert(holds<Message>, "plait: one name means one thing in a program; this name is declared twice with different "
                  "dtype, shape, layout or kind: rename one");
};
template <auto Message>
struct assert_rule<rule::label_twice, Message> {
    static_assert(holds<Message>, "plait: a label names one operation of a program; use another label for the other one");
};
template <auto Message>
struct assert_rule<rule::label_target, Message> {
    static_assert(holds<Message>, "plait: a label names an operation or the collective under it; a tensor or scalar has its own name already");
};
template <auto Message>
struct assert_rule<rule::label_many, Message> {
    static_assert(holds<Message>, "plait: label<L>(value) names the one collective that the value is computed from, and this value is computed from several; label each where it is built");
};
template <auto Message>
struct assert_rule<rule::split_target, Message> {
    static_assert(holds<Message>, "plait: split<L> needs the label of an all_reduce, reduce or broadcast of a value with a "
                  "dimension; label it where it is built: label<L>(all_reduce(...))");
};
template <auto Message>
struct assert_rule<rule::reorder_target, Message> {
    static_assert(holds<Message>, "plait: reorder<L> needs the label of an all_gather or send; use split<L> on an all_reduce "
                  "first");
};
template <auto Message>
struct assert_rule<rule::reorder_illegal, Message> {
    static_assert(holds<Message>, "plait: reorder<L> found no computation after the collective that can work on slices; leave it "
                  "out, or slice along another dimension");
};
template <auto Message>
struct assert_rule<rule::as_slice_target, Message> {
    static_assert(holds<Message>, "plait: as_slice<T> needs the name of a replicated tensor of the program with a dimension");
};
template <auto Message>
struct assert_rule<rule::as_slice_whole, Message> {
    static_assert(holds<Message>, "plait: as_slice<T> needs a tensor of which only the slice is used; reorder the collective "
                  "that reads it first");
};
template <auto Message>
struct assert_rule<rule::fuse_target, Message> {
    static_assert(holds<Message>, "plait: fuse needs a collective that has a computation next to it, and fuse_only<L> one with that label; leave it out");
};
template <auto Message>
struct assert_rule<rule::fuse_between, Message> {
    static_assert(holds<Message>, "plait: fuse cannot make one kernel of stages with another stage in between; fuse that one "
                  "too, or fuse them apart");
};
template <auto Message>
struct assert_rule<rule::overlap_target, Message> {
    static_assert(holds<Message>, "plait: overlap needs two stages or more that are in no other pipeline; label them where they are built, and leave out overlap where one kernel does all");
};
template <auto Message>
struct assert_rule<rule::overlap_stage, Message> {
    static_assert(holds<Message>, "plait: overlap needs stages that all work chunk by chunk along one dimension, and this one needs more than its chunk; split an all_reduce first, and leave out what reduces, gathers or moves whole values");
};
template <auto Message>
struct assert_rule<rule::unknown_label, Message> {
    static_assert(holds<Message>, "plait: no operation of the program has this label; label it where it is built: label<L>(...)");
};
template <auto Message>
struct assert_rule<rule::kernel_size, Message> {
    static_assert(holds<Message>, "plait: one kernel takes at most 40 operands and 24 results; make two programs of it");
};
template <auto Message>
struct assert_rule<rule::no_kernel, Message> {
    static_assert(holds<Message>, "plait: this operation has no kernel on this target yet");
};

}  // namespace plait::detail
