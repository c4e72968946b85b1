// Plans: how many passes a schedule takes, where ranks meet, and where results go. The reasons are written beside the
// numbers: a pass begins where a value must be complete before it can be used.
#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>
#include <plait/plan/lowered.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace {

namespace pl = plait;
using namespace pl::literals;
using pl::destination;
using pl::pass_kind;
using pl::source;

struct shape_of_plan {
    int passes;
    int barriers;  // between passes
    bool barrier_after;
    bool operator==(const shape_of_plan&) const = default;
};

template <class Program>
constexpr shape_of_plan outline(Program)
{
    constexpr pl::plan_view v = pl::lowered<Program>::view;
    shape_of_plan s{static_cast<int>(v.passes.size()), 0, v.barrier_after};
    for (const pl::pass_view& p : v.passes) { s.barriers += p.barrier_before ? 1 : 0; }
    return s;
}

/// Where pass i stores its value for a tensor; -1 if it does not.
template <class Program>
constexpr int goes_to(Program, std::size_t pass, std::string_view tensor)
{
    using lowered = pl::lowered<Program>;
    const int t = lowered::graph.tensor(tensor);
    for (const pl::pass_result& r : lowered::view.passes[pass].results) {
        if (lowered::view.slots[static_cast<std::size_t>(r.slot)].node == t) { return static_cast<int>(r.to); }
    }
    return -1;
}
constexpr int own = static_cast<int>(destination::own);
constexpr int all_ranks = static_cast<int>(destination::all_ranks);

template <class Program>
constexpr int count_results(Program, std::size_t pass)
{
    return static_cast<int>(pl::lowered<Program>::view.passes[pass].results.size());
}
/// How many operands of a pass come from other ranks.
template <class Program>
constexpr int reads_of_peers(Program, std::size_t pass)
{
    int n = 0;
    for (const pl::pass_operand& o : pl::lowered<Program>::view.passes[pass].operands) {
        n += o.from == source::all_ranks || o.from == source::from_root || o.from == source::root_combined ||
                     o.from == source::peer_parts
                 ? 1
                 : 0;
    }
    return n;
}
/// Slots of the plan that are no tensors of the user.
template <class Program>
constexpr int workspace_slots(Program)
{
    int n = 0;
    for (const pl::slot& s : pl::lowered<Program>::view.slots) { n += s.is_tensor ? 0 : 1; }
    return n;
}

using adam = pl::optim::adam<>;
using lamb = pl::optim::lamb<>;

TEST_CASE("plan: Adam unscheduled is the all_reduce and one kernel")
{
    constexpr auto p = adam::unscheduled;
    // The all_reduce writes every rank's workspace: the kernel that reads it waits for the others. The kernel itself
    // touches this rank's memory alone, so nobody has to wait for it at the end.
    CHECK(outline(p) == shape_of_plan{2, 1, false});
    CHECK(pl::lowered<decltype(p)>::view.passes[0].kind == pass_kind::all_reduce);
    CHECK(pl::lowered<decltype(p)>::view.passes[1].barrier_before);
    CHECK(reads_of_peers(p, 0) == 1);
    CHECK(reads_of_peers(p, 1) == 0);
    CHECK(count_results(p, 0) == 1);
    CHECK(count_results(p, 1) == 3);
    for (std::string_view t : {"p", "m", "v"}) { CHECK(goes_to(p, 1, t) == own); }
    CHECK(workspace_slots(p) == 1);  // the sum of the gradients
}

TEST_CASE("plan: Adam sliced is the reduce_scatter, one kernel, and the all_gather")
{
    constexpr auto p = adam::sliced;
    // The kernel reads only what this rank's reduce_scatter wrote: no barrier before it. The all_gather overwrites p on
    // all ranks, whose kernels read it: one barrier before. After it, others may still be writing this rank's p.
    CHECK(outline(p) == shape_of_plan{3, 1, true});
    CHECK(pl::lowered<decltype(p)>::view.passes[2].barrier_before);
    CHECK(reads_of_peers(p, 0) == 1);
    CHECK(reads_of_peers(p, 1) == 0);
    CHECK(count_results(p, 1) == 3);
    CHECK(goes_to(p, 1, "m") == own);
    CHECK(goes_to(p, 1, "v") == own);
    CHECK(goes_to(p, 1, "p") == -1);
    CHECK(goes_to(p, 2, "p") == all_ranks);
    CHECK(workspace_slots(p) == 2);  // the slice of the gradient, and that of the new parameters
}

TEST_CASE("plan: Adam fused is one kernel")
{
    constexpr auto p = adam::fused;
    // Each element of g is read from all ranks, each new element of p is written to all ranks by the one rank that owns
    // it and is the only one to read it: nothing has to wait until the end.
    CHECK(outline(p) == shape_of_plan{1, 0, true});
    CHECK(pl::lowered<decltype(p)>::view.passes[0].fused);
    CHECK(reads_of_peers(p, 0) == 1);
    CHECK(count_results(p, 0) == 3);
    CHECK(goes_to(p, 0, "m") == own);
    CHECK(goes_to(p, 0, "v") == own);
    CHECK(goes_to(p, 0, "p") == all_ranks);
    CHECK(workspace_slots(p) == 0);
}

TEST_CASE("plan: SGD takes the passes of Adam, with one state instead of two")
{
    using sgd = pl::optim::sgd<>;
    CHECK(outline(sgd::unscheduled) == outline(adam::unscheduled));
    CHECK(outline(sgd::sliced) == outline(adam::sliced));
    CHECK(outline(sgd::fused) == outline(adam::fused));
    CHECK(count_results(sgd::fused, 0) == 2);
}

TEST_CASE("plan: a model's copy of the parameters is gathered, the master parameters stay sliced")
{
    using mixed = pl::optim::adam<pl::f16, pl::bf16>;
    constexpr auto p = mixed::fused;
    CHECK(outline(p) == shape_of_plan{1, 0, true});
    CHECK(count_results(p, 0) == 4);
    for (std::string_view t : {"p", "m", "v"}) { CHECK(goes_to(p, 0, t) == own); }
    CHECK(goes_to(p, 0, "model") == all_ranks);
}

TEST_CASE("plan: LAMB unscheduled needs the norms before it can step")
{
    constexpr auto p = lamb::unscheduled;
    // all_reduce; moments, u and both norms; the step, which needs both norms whole. (The norm of p waits for nothing, but
    // p is read for u, too.) Only the sum of the gradients comes from other ranks.
    CHECK(outline(p) == shape_of_plan{3, 1, false});
    CHECK(pl::lowered<decltype(p)>::view.passes[1].barrier_before);
    CHECK(count_results(p, 1) == 5);  // m, v, u, and both norms
    CHECK(goes_to(p, 1, "m") == own);
    CHECK(goes_to(p, 1, "p") == -1);
    CHECK(goes_to(p, 2, "p") == own);
    CHECK(workspace_slots(p) == 4);  // the sum of the gradients, u, two norms
}

TEST_CASE("plan: LAMB sliced has the all_reduces of both norms together")
{
    constexpr auto p = lamb::sliced;
    // reduce_scatter; moments, u and parts of both norms; an all_reduce of each; step; all_gather.
    // Ranks meet once before the two all_reduces (all parts must be there), before the step (all sums must be there) and
    // before the all_gather overwrites what others read.
    CHECK(outline(p) == shape_of_plan{6, 3, true});
    CHECK(goes_to(p, 5, "p") == all_ranks);
}

TEST_CASE("plan: LAMB fused is two kernels with one meeting in between")
{
    constexpr auto p = lamb::fused;
    // Up to the norms' parts; from the norms on. The second kernel adds the parts of all ranks by itself.
    CHECK(outline(p) == shape_of_plan{2, 1, true});
    CHECK(reads_of_peers(p, 0) == 1);  // the gradient
    CHECK(reads_of_peers(p, 1) == 2);  // the parts of two norms
    CHECK(count_results(p, 0) == 5);   // m, v, u, and a part of each norm
    CHECK(count_results(p, 1) == 1);
    CHECK(goes_to(p, 1, "p") == all_ranks);
    CHECK(workspace_slots(p) == 3);  // u and the parts
}

constexpr auto N = pl::dim<"N">;
constexpr auto x = pl::tensor<"x", float>(pl::replicated, N);
constexpr auto y = pl::tensor<"y", float>(pl::replicated, N);
constexpr auto g = pl::tensor<"g", float>(pl::local, N);

TEST_CASE("plan: a chain of elementwise operations is one pass without workspace")
{
    constexpr auto p = pl::program<"p">(pl::update(x, pl::sqrt(pl::exp(x * y) + y)), pl::update(y, x / y));
    // Both read old values; in one pass an element is read before it is written.
    CHECK(outline(p) == shape_of_plan{1, 0, false});
    CHECK(workspace_slots(p) == 0);
}

TEST_CASE("plan: an update waits for the last reader of the old value")
{
    // y needs the old x and its sum: the sum, then y, and only then the new x, which the first pass could have stored.
    constexpr auto p = pl::program<"p">(pl::update(x, x + 1_c), pl::update(y, x * pl::sum(x)));
    CHECK(outline(p) == shape_of_plan{3, 0, false});
    CHECK(goes_to(p, 0, "x") == -1);
    CHECK(goes_to(p, 1, "y") == own);
    CHECK(goes_to(p, 2, "x") == own);
}

TEST_CASE("plan: an update of a tensor that peers read waits for them")
{
    constexpr auto p = pl::program<"p">(pl::update(x, pl::all_reduce(pl::sum, g)), pl::update(g, 0_c));
    const auto& view = pl::lowered<decltype(p)>::view;
    CHECK(outline(p).barriers >= 1);
    // The pass that writes g is not the one that reads it from all ranks, and ranks meet in between.
    for (std::size_t i = 0; i < view.passes.size(); ++i) {
        if (goes_to(p, i, "g") == own) {
            CHECK(reads_of_peers(p, i) == 0);
            CHECK(view.passes[i].barrier_before);
        }
    }
}

TEST_CASE("plan: collectives on their own")
{
    constexpr auto s = pl::tensor<"s", float>(pl::sliced<0>, N);
    // Reading peers: one pass, and nobody may change its g before all have read it.
    CHECK(outline(pl::program<"p">(pl::update(s, pl::reduce_scatter(pl::sum, g)))) == shape_of_plan{1, 0, true});
    CHECK(outline(pl::program<"p">(pl::update(x, pl::broadcast(g, pl::root<0>)))) == shape_of_plan{1, 0, true});
    CHECK(outline(pl::program<"p">(pl::update(s, pl::scatter(g, pl::root<0>)))) == shape_of_plan{1, 0, true});
    // Writing to peers.
    constexpr auto gathered = pl::program<"p">(pl::update(x, pl::all_gather(s)));
    CHECK(outline(gathered) == shape_of_plan{1, 0, true});
    CHECK(goes_to(gathered, 0, "x") == all_ranks);
    constexpr auto rooted = pl::program<"p">(pl::update(g, pl::gather(s, pl::root<1>)));
    CHECK(goes_to(rooted, 0, "g") == static_cast<int>(destination::root));
    CHECK(pl::lowered<decltype(rooted)>::view.passes[0].results[0].root == 1);
    constexpr auto M = pl::dim<"M">;
    constexpr auto a = pl::tensor<"a", float>(pl::sliced<0>, M, N);
    constexpr auto b = pl::tensor<"b", float>(pl::sliced<1>, M, N);
    constexpr auto turned = pl::program<"p">(pl::update(b, pl::all_to_all(a, pl::axis<1>)));
    CHECK(outline(turned) == shape_of_plan{1, 0, true});
    CHECK(pl::lowered<decltype(turned)>::view.passes[0].kind == pass_kind::all_to_all);
}

TEST_CASE("plan: what has no kernel on the host is found, and named")
{
    constexpr auto w = pl::tensor<"w", float>(pl::replicated, N, N);
    constexpr auto p = pl::program<"p">(pl::update(w, pl::dropout(w, pl::sqrt(pl::scalar<"p", float>), 1_c)));
    CHECK(pl::lowered<decltype(p)>::plan.violated == pl::rule::no_kernel);
    CHECK(pl::lowered<decltype(p)>::plan.why.view() == "the result of dropout (f32 [N, N] replicated): dropout on the host");
}

TEST_CASE("plan: hashes tell programs and schedules apart")
{
    constexpr auto hash_of = [](auto program) { return pl::detail::program_hash<pl::lowered<decltype(program)>>; };
    CHECK(hash_of(adam::fused) != hash_of(adam::sliced));
    CHECK(hash_of(adam::sliced) != hash_of(adam::unscheduled));
    CHECK(hash_of(adam::fused) != hash_of(pl::optim::adamw<>::fused));
    CHECK(hash_of(pl::program<"p">(pl::update(x, x + 1_c))) != hash_of(pl::program<"p">(pl::update(x, x + 2_c))));
    CHECK(hash_of(pl::program<"p">(pl::update(x, x + 1_c))) != hash_of(pl::program<"q">(pl::update(x, x + 1_c))));
    CHECK(hash_of(pl::program<"p">(pl::update(x, x + 1_c))) == hash_of(pl::program<"p">(pl::update(x, x + 1.0_c))));
}

}  // namespace
