// The code of a pass as pointers: its kernel, what combines the ranks' values and reduces, or the whole of it.
#pragma once

#include <plait/kernels/tile.hpp>
#include <plait/plan/plan.hpp>
#include <plait/target/host/reducer.hpp>

#include <cstddef>

namespace plait::host {

/// The body of a pass over one contiguous run of elements.
using tile_function = void (*)(const kernels::tile_pointers&, std::size_t);

struct pass_context;

/// What the runtime calls for one pass of a program.
struct pass_functions {
    tile_function kernel = nullptr;
    const combiner* combiners[max_operands]{};  // by operand; null where no ranks are combined
    const reducer* reducers[max_results]{};     // by result; null where nothing is reduced
    void (*contract)(const pass_context&) = nullptr;  // of a contraction, all that it does
};

}  // namespace plait::host
