#include <plait/blocks/pipeline.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>
#include <plait/tune/kernel_count.hpp>
#include <plait/tune/explore.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace pl = plait;
namespace blocks = pl::blocks;

/// What the schedules compute and how, by hash: names of transformations do not count.
template <class Schedules>
std::vector<std::uint64_t> hashes(Schedules s)
{
    std::vector<std::uint64_t> all;
    s.for_each([&](auto program, std::string_view) { all.push_back(pl::detail::schedule_hash(decltype(program)::graph)); });
    return all;
}
template <class Schedules, class Program>
bool has(Schedules s, Program)
{
    return std::ranges::count(hashes(s), pl::detail::schedule_hash(Program::graph)) == 1;
}
template <class Schedules>
std::vector<std::string> names(Schedules s)
{
    std::vector<std::string> all;
    s.for_each([&](auto, std::string_view how) { all.emplace_back(how); });
    return all;
}

}  // namespace

TEST_CASE("the paper's schedules of optimizers: AR-C, RS-C-AG, fuse(RS-C-AG) with sliced state")
{
    const auto check = [](auto optimizer) {
        using o = decltype(optimizer);
        constexpr auto all = pl::explore<256>(o::unscheduled);
        CHECK(has(all, o::unscheduled));
        CHECK(has(all, o::sliced));
        CHECK(has(all, o::fused));
    };
    check(pl::optim::sgd<>{});
    check(pl::optim::adam<>{});
    check(pl::optim::adam<pl::f16>{});
    check(pl::optim::lamb<>{});
}

TEST_CASE("the paper's schedules of model-parallel blocks: MM-AR-C, MM-RS-C-AG, MM-fuse(RS-C-AG), overlap(MM, fuse(RS-C-AG))")
{
    const auto check = [](auto block) {
        using b = decltype(block);
        constexpr auto all = pl::explore<256>(b::unscheduled, pl::same_storage);
        CHECK(has(all, b::unscheduled));
        CHECK(has(all, b::sliced));
        CHECK(has(all, b::fused));
        CHECK(has(all, b::overlapped));
    };
    check(blocks::row_parallel<>{});
    check(blocks::mlp<>{});
    CHECK(has(pl::explore(blocks::mlp<>::unscheduled, pl::same_storage), blocks::mlp<>::overlapped_whole));
}

TEST_CASE("the paper's schedules of the pipeline block: AR-C-P2P, RS-C-P2P-AG, RS-fuse(C-P2P)-AG, overlap(RS, fuse(C-P2P), AG)")
{
    using b = blocks::pipeline<>;
    constexpr auto all = pl::explore<256>(b::unscheduled, pl::same_storage);
    CHECK(has(all, b::unscheduled));
    CHECK(has(all, b::sliced));
    CHECK(has(all, b::fused_send));
    CHECK(has(all, b::fused));
    CHECK(has(all, b::overlapped));
    CHECK(has(all, b::fused_overlapped));
    using p = blocks::pipeline_projection<>;
    CHECK(has(pl::explore<256>(p::unscheduled, pl::same_storage), p::overlapped));
}

TEST_CASE("schedules are distinct, the program is the first, and a fused one is only overlapped")
{
    constexpr auto all = pl::explore(blocks::mlp<>::unscheduled, pl::same_storage);
    auto h = hashes(all);
    CHECK(all.how(0) == "unscheduled");
    std::ranges::sort(h);
    CHECK(std::ranges::adjacent_find(h) == h.end());
    for (const std::string& how : names(all)) {
        const std::size_t fused = how.find("fuse");
        CAPTURE(how);
        if (fused != std::string::npos) { CHECK(how.find("split", fused) == std::string::npos); }
        if (how.find("overlap") != std::string::npos) { CHECK(how.find(" | ", how.find("overlap")) == std::string::npos); }
    }
}

TEST_CASE("the search can be limited")
{
    using a = pl::optim::adam<>;
    constexpr auto same = pl::explore(a::unscheduled, pl::same_storage);
    CHECK(names(same) == std::vector<std::string>{"unscheduled", "split<gradient>", "fuse", "split<gradient> | reorder<gradient>",
                                                  "split<gradient> | reorder<gradient> | fuse"});
    CHECK(pl::explore(a::unscheduled, pl::first<3>()).size == 3);
    CHECK(names(pl::explore(a::unscheduled, pl::first<3>(pl::same_storage))) ==
          std::vector<std::string>{"unscheduled", "split<gradient>", "fuse"});
    CHECK(pl::explore(a::unscheduled, pl::first<100>(pl::same_storage)).size == 5);
    constexpr auto no_fuse = pl::explore(a::unscheduled, [](std::string_view how) { return how.find("fuse") == std::string_view::npos; });
    for (const std::string& how : names(no_fuse)) { CHECK(how.find("fuse") == std::string::npos); }
    CHECK(no_fuse.size > 2);
    CHECK(pl::explore<5>(a::unscheduled, pl::same_storage).size == 5);  // Max counts what is kept
}

TEST_CASE("kernels that schedules share are one kernel")
{
    constexpr auto all = pl::explore(blocks::mlp<>::unscheduled, pl::same_storage);
    const pl::kernel_count c = pl::count_kernels(all);
    CHECK(c.passes > 4 * c.kernels);
    CHECK(c.kernels >= 4);
    const pl::kernel_count one = pl::count_kernels(pl::explore(pl::optim::adam<>::unscheduled, pl::first<1>()));
    CHECK(one.passes == 2);  // all_reduce, update
    CHECK(one.kernels == 2);
}
