// Workspace of values that stay in registers where the passes next to each other are launched together.
#pragma once

#include <plait/core/view.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/target/cuda/device_memory.cuh>
#include <plait/target/cuda/functions_of.cuh>

#include <cstddef>
#include <vector>

namespace plait::cuda {

/// Slots that no other rank touches, and that are in memory only where their pass is launched alone. That depends on extents, and
/// on this rank's buffers: so they have no place in the workspace, which all ranks lay out alike.
class value_slots {
  public:
    value_slots(arguments& args, view<const pass_code> code, launch_memory& memory)
        : args_(args), code_(code), memory_(memory), is_value_(static_cast<std::size_t>(args.image().n_slots()))
    {
        for (std::size_t p = 0; p < code.size(); ++p) {
            for_each(p, [&](int slot) { is_value_[static_cast<std::size_t>(slot)] = true; });
        }
    }
    [[nodiscard]] bool has(int slot) const { return is_value_[static_cast<std::size_t>(slot)]; }

    /// Before launches are built.
    void restart()
    {
        for (std::size_t s = 0; s < is_value_.size(); ++s) {
            if (is_value_[s]) { args_.buffer(static_cast<int>(s)).data = nullptr; }
        }
        is_placed_.assign(is_value_.size(), false);
    }
    /// Pass p is launched alone: what it makes is in memory.
    void place_results(std::size_t p)
    {
        for_each(p, [&](int slot) {
            if (is_placed_[static_cast<std::size_t>(slot)]) { return; }
            const node& n = args_.image().slot_node(slot);
            args_.buffer(slot).data = memory_.value(static_cast<std::size_t>(args_.stored_elements_of(n)) * size_of(n.type));
            is_placed_[static_cast<std::size_t>(slot)] = true;
        });
    }

  private:
    template <class Use>
    void for_each(std::size_t p, Use&& use) const
    {
        const auto& results = args_.image().plan.passes[p].results;
        for (std::size_t r = 0; r < results.size(); ++r) {
            if ((code_[p].held >> r & 1U) != 0) { use(results[r].slot); }
        }
    }

    arguments& args_;
    view<const pass_code> code_;
    launch_memory& memory_;
    std::vector<bool> is_value_;
    std::vector<bool> is_placed_;
};

}  // namespace plait::cuda
