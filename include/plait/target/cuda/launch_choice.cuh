// Which launch takes a pass: one of its own, one with the pass after it, or one of passes over the same rows.
#pragma once

#include <plait/core/view.hpp>
#include <plait/run/chunks.hpp>
#include <plait/target/cuda/functions_of.cuh>
#include <plait/target/cuda/joined_passes.cuh>
#include <plait/target/cuda/row_launch.cuh>

#include <cstddef>

namespace plait::cuda {

/// Decides alike for passes that run whole and in chunks, from what the arguments of a run are.
class launch_choice {
  public:
    /// `apart`: ranks exchange messages, and no pass is joined with the next one.
    launch_choice(const arguments& args, view<const pass_code> code, bool apart)
        : args_(args), passes_(args.image().plan.passes), code_(code), apart_(apart)
    {
    }

    /// Whether ranks exchange messages.
    [[nodiscard]] bool is_apart() const { return apart_; }
    /// Whether pass p and the next one are one launch.
    [[nodiscard]] bool joins_next(std::size_t p) const
    {
        return !apart_ && code_[p].with_next != nullptr && buffers_allow_joining(args_, passes_[p], passes_[p + 1]);
    }
    /// What takes pass p, and maybe some after it. `cut`: into chunks, or nullptr for whole passes.
    [[nodiscard]] joint_launch from(std::size_t p, const plait::detail::chunking* cut = nullptr) const
    {
        const pass_code& c = code_[p];
        if (joins_next(p)) { return {c.with_next, 2}; }
        const bool by_rows = c.by_rows != nullptr && rows_can_be_held(args_, passes_[p]) && (cut == nullptr || are_rows(args_, passes_[p], *cut));
        return by_rows ? joint_launch{c.by_rows, static_cast<std::size_t>(c.row_passes)} : joint_launch{c.build, 1};
    }

  private:
    const arguments& args_;
    view<const pass_view> passes_;
    view<const pass_code> code_;
    bool apart_;
};

}  // namespace plait::cuda
