// Collectives of values in the wrong layout.
#include <plait/lang/collectives.hpp>

namespace pl = plait;
using namespace pl::literals;

constexpr auto N = pl::dim<"N">;
constexpr auto mine = pl::tensor<"mine", float>(pl::local, N, N);
constexpr auto whole = pl::tensor<"whole", float>(pl::replicated, N, N);
constexpr auto part = pl::tensor<"part", float>(pl::sliced<0>, N, N);
constexpr auto mask = pl::tensor<"mask", bool>(pl::local, N, N);

#if defined(CASE_all_reduce)
// refused all_reduce: \\"whole\\": all_reduce of \\"whole\\" \(f32 \[N, N\] replicated\).*already equal on every rank \(use it as it is\)
// everywhere all_reduce: already equal on every rank \(use it as it is\)
constexpr auto y = pl::all_reduce(pl::sum, whole);
#elif defined(CASE_all_reduce_of_a_slice)
// refused all_reduce_of_a_slice: \\"part\\": all_reduce of \\"part\\" \(f32 \[N, N\] sliced<0>\).*a sliced one needs all_gather
// everywhere all_reduce_of_a_slice: a sliced one needs all_gather
constexpr auto y = pl::all_reduce(pl::sum, part);
#elif defined(CASE_all_reduce_of_booleans)
// refused all_reduce_of_booleans: \\"mask\\": all_reduce of \\"mask\\" \(boolean.*not defined for this dtype; cast
// everywhere all_reduce_of_booleans: not defined for this dtype; cast
constexpr auto y = pl::all_reduce(pl::max, mask);
#elif defined(CASE_reduce_scatter)
// refused reduce_scatter: \\"whole\\": reduce_scatter of \\"whole\\".*combines local values; take a slice of a replicated one with slice
// everywhere reduce_scatter: combines local values; take a slice of a replicated one with slice
constexpr auto y = pl::reduce_scatter(pl::sum, whole);
#elif defined(CASE_reduce_scatter_axis)
// refused reduce_scatter_axis: \\"mine\\": reduce_scatter of \\"mine\\".*the axis must be a dimension of the value
// everywhere reduce_scatter_axis: the axis must be a dimension of the value
constexpr auto y = pl::reduce_scatter(pl::sum, mine, pl::axis<2>);
#elif defined(CASE_all_gather)
// refused all_gather: \\"whole\\": all_gather of \\"whole\\".*joins the slices of a sliced value; this value is whole already
// everywhere all_gather: joins the slices of a sliced value; this value is whole already
constexpr auto y = pl::all_gather(whole);
#elif defined(CASE_reduce)
// refused reduce: \\"whole\\": reduce of \\"whole\\".*a replicated value needs no reduce and a sliced one needs gather
// everywhere reduce: a replicated value needs no reduce and a sliced one needs gather
constexpr auto y = pl::reduce(pl::sum, whole, pl::root<0>);
#elif defined(CASE_broadcast)
// refused broadcast: \\"whole\\": broadcast of \\"whole\\".*broadcast sends the root's local value to every rank
// everywhere broadcast: broadcast sends the root's local value to every rank
constexpr auto y = pl::broadcast(whole, pl::root<0>);
#elif defined(CASE_gather)
// refused gather: \\"mine\\": gather of \\"mine\\".*gather joins the slices of a sliced value on the root; a whole value needs none
// everywhere gather: gather joins the slices of a sliced value on the root; a whole value needs none
constexpr auto y = pl::gather(mine, pl::root<0>);
#elif defined(CASE_scatter)
// refused scatter: \\"whole\\": scatter of \\"whole\\".*hands the root's local value out in slices; take slice
// everywhere scatter: hands the root's local value out in slices; take slice
constexpr auto y = pl::scatter(whole, pl::root<0>);
#elif defined(CASE_all_to_all)
// refused all_to_all: \\"whole\\": all_to_all of \\"whole\\".*give it a sliced value and another axis
// everywhere all_to_all: give it a sliced value and another axis
constexpr auto y = pl::all_to_all(whole, pl::axis<1>);
#elif defined(CASE_all_to_all_same_axis)
// refused all_to_all_same_axis: \\"part\\": all_to_all of \\"part\\".*and another axis
// everywhere all_to_all_same_axis: and another axis
constexpr auto y = pl::all_to_all(part, pl::axis<-2>);
#elif defined(CASE_slice)
// refused slice: \\"mine\\": slice of \\"mine\\".*a sliced one is sliced already and a local one needs reduce_scatter or scatter
// everywhere slice: a sliced one is sliced already and a local one needs reduce_scatter or scatter
constexpr auto y = pl::slice(mine);
#elif defined(CASE_send_to_itself)
// refused send_to_itself: \\"whole\\": send of \\"whole\\".*use plait::next_group or another group's number
// everywhere send_to_itself: use plait::next_group or another group's number
constexpr auto y = pl::send(whole, pl::group<0>);
#elif defined(CASE_send_before_the_first)
// refused send_before_the_first: \\"whole\\": send of \\"whole\\".*use plait::next_group or another group's number
// everywhere send_before_the_first: use plait::next_group or another group's number
constexpr auto y = pl::send(whole, pl::previous_group);
#elif defined(CASE_root)
// refused root: \\"mine\\": reduce of \\"mine\\".*the root is a rank, counted from 0; write plait::root<0>
// everywhere root: the root is a rank, counted from 0; write plait::root<0>
constexpr auto y = pl::reduce(pl::sum, mine, pl::root<-1>);
#elif defined(CASE_consumer)
// refused consumer: \\"whole\\": all_reduce of \\"whole\\".*already equal on every rank
// everywhere consumer: already equal on every rank
constexpr auto y = pl::all_gather(pl::reduce_scatter(pl::sum, pl::all_reduce(pl::sum, whole)));
#endif
