// The simulated link: when transfers arrive, by arithmetic on given times, and what it counts.
#include <plait/fabric/link.hpp>

#include <doctest/doctest.h>

namespace {

using namespace std::chrono_literals;
using plait::link_end;

TEST_CASE("link: without a model nothing is delayed, but counted")
{
    link_end end;
    const link_end::time now{1s};
    CHECK(!end.is_simulated());
    CHECK(end.transfer(1000, now) == now);
    CHECK(end.transfer(0, now) == now);
    end.transfer(24);
    end.settle();
    CHECK(end.bytes() == 1024);
}

TEST_CASE("link: a transfer takes bytes / bandwidth and arrives one latency later")
{
    link_end end({.latency = 5us, .bytes_per_second = 1e9});
    CHECK(end.is_simulated());
    CHECK(end.transfer(1000, link_end::time{1ms}) == link_end::time{1ms + 1us + 5us});
}

TEST_CASE("link: transfers follow each other, latencies overlap")
{
    link_end end({.latency = 5us, .bytes_per_second = 1e9});
    CHECK(end.transfer(2000, link_end::time{10us}) == link_end::time{17us});
    CHECK(end.transfer(2000, link_end::time{11us}) == link_end::time{19us});  // begins when the first has left, at 12
    CHECK(end.transfer(1000, link_end::time{50us}) == link_end::time{56us});  // the link was idle
    CHECK(end.transfer(0, link_end::time{1us}) == link_end::time{1us});       // nothing to move: no latency
    CHECK(end.bytes() == 5000);
}

TEST_CASE("link: latency alone, bandwidth alone")
{
    link_end slow({.latency = 1ms});
    CHECK(slow.transfer(1U << 30U, link_end::time{1s}) == link_end::time{1s + 1ms});
    link_end narrow({.bytes_per_second = 1e6});
    CHECK(narrow.transfer(1'000'000, link_end::time{1s}) == link_end::time{2s});
}

}  // namespace
