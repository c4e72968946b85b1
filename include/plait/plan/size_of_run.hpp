// The sizes of a run, for the cost of any schedule of the same program.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait {

/// Extents by the symbols of `image`, taken by name from the arguments of a run, which may be that of another schedule.
class run_sizes {
  public:
    run_sizes(const program_image& image, const arguments& args) : ranks_(args.ranks())
    {
        for (std::size_t i = 0; i < image.symbols.size(); ++i) {
            const auto& theirs = args.image().symbols;
            const auto at = static_cast<std::size_t>(detail::find(theirs, image.symbols[i]) - theirs.begin());
            const bool known = at < theirs.size() && args.extents()[at] >= 0;
            extents_.push_back(known ? args.extents()[at] : 0);
            tensors_.push_back(known ? std::max<std::int64_t>(1, static_cast<std::int64_t>(args.counts()[at].size())) : 1);
        }
    }
    [[nodiscard]] plan_sizes view() const { return {extents_, tensors_, ranks_}; }

  private:
    std::vector<std::int64_t> extents_;
    std::vector<std::int64_t> tensors_;
    int ranks_;
};

}  // namespace plait
