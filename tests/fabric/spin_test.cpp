// Patience polls at once, reports success, and ends by itself.
#include <plait/fabric/spin.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

TEST_CASE("a condition that already holds is seen by the first poll")
{
    for (bool core_of_its_own : {false, true}) {
        plait::detail::patience waits(core_of_its_own);
        int polls = 0;
        CHECK(waits.outlasts([&] { return ++polls > 0; }));
        CHECK(polls == 1);
    }
}

TEST_CASE("a condition that comes true while polling is seen, one that never does ends the polling")
{
    for (bool core_of_its_own : {false, true}) {
        plait::detail::patience waits(core_of_its_own);
        int polls = 0;
        CHECK(waits.outlasts([&] { return ++polls == 2; }));
        CHECK(polls == 2);
        CHECK_FALSE(waits.outlasts([] { return false; }));
    }
}

TEST_CASE("the last poll comes after the last pause, also when yields have proved slow")
{
    plait::detail::patience waits(false);
    const auto never_and_slow = [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // counts as a slow yield
        return false;
    };
    CHECK_FALSE(waits.outlasts(never_and_slow));
    int polls = 0;
    CHECK_FALSE(waits.outlasts([&] { return ++polls < 1; }));
    CHECK(polls == 1);  // no more yields for now
}
