// A rule for the planted files to break.
#pragma once

template <int N>
struct positive {
    static_assert(N > 0, "positive: N must be above 0; use 1");
};
