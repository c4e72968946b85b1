// The race of an optimizer's contestants: from the same start, with the same result, then timed.
#pragma once

#include "measure.hpp"
#include "shared_buffer.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace bench {

/// Lets the first `steps` contestants take one step from the same start, refuses any that comes elsewhere than the first
/// one, and times all. `m` and `v`: the whole state.
template <plait::communicator Comm>
std::vector<timing> race_of_steps(Comm& comm, const std::vector<contestant>& contestants, std::size_t steps,
                                  std::span<float> g, std::span<float> p, std::span<float> m, std::span<float> v,
                                  int rounds)
{
    const auto reset = [&] {
        comm.barrier("all are done");
        for (std::size_t i = 0; i < g.size(); ++i) {
            g[i] = gradient(i, comm.rank());
            p[i] = 1;
            m[i] = 0;
            v[i] = 0;
        }
        comm.barrier("all have begun anew");
    };
    std::vector<float> expected;
    for (std::size_t c = 0; c < steps; ++c) {
        reset();
        contestants[c].call();
        comm.barrier("parameters are there");
        if (c == 0) { expected.assign(p.begin(), p.end()); }
        must_agree(contestants[c].name.c_str(), p, expected);
    }
    reset();
    return race(comm, contestants, rounds, 2e-3);
}

}  // namespace bench
