// Generation on the threads of this process.
#pragma once

#include "generate.hpp"

#include <plait/fabric/threads.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gpt {

/// The texts, written by `how.groups` groups of `ranks` threads each. Throws what the first rank that fails threw.
inline std::vector<std::string> generate_on_threads(const model_shape& shape, std::span<const float> parameters,
                                                    const writing& what, const generation& how, int ranks,
                                                    const std::function<void(std::size_t)>& report = {})
{
    constexpr auto deadline = std::chrono::minutes(10);  // a large model's ranks may wait long for each other
    std::deque<plait::thread_group> groups;
    for (int g = 0; g < how.groups; ++g) { groups.emplace_back(ranks, deadline); }
    std::vector<std::string> result;
    plait::threads::run(
        how.groups * ranks,
        [&](plait::thread_communicator& all) {
            plait::thread_group& mine = groups[static_cast<std::size_t>(all.rank() / ranks)];
            try {
                plait::thread_communicator own = mine.communicator(all.rank() % ranks);
                std::vector<std::string> texts =
                    generate(all, own, shape, parameters, what, how,
                             all.rank() == 0 ? report : std::function<void(std::size_t)>());
                if (all.rank() == 0) { result = std::move(texts); }
            } catch (...) {
                // First to all ranks: theirs is the failure that is told.
                const std::string why = plait::detail::text_of_current_exception();
                all.fail(why);
                mine.fail(all.rank() % ranks, why);
                throw;
            }
        },
        deadline);
    return result;
}

}  // namespace gpt
