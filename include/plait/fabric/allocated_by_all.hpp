// Memory that every rank must have, or none.
#pragma once

#include <plait/core/error.hpp>
#include <plait/fabric/thrown.hpp>

#include <cstddef>
#include <string>

namespace plait::detail {

/// Calls allocate(), and tells the others how it went. A meeting. Throws plait::error on all ranks if one of them could not; what
/// the others have got is given to free().
template <class Communicator, class Allocate, class Free>
auto allocated_by_all(Communicator& comm, Allocate&& allocate, Free&& free)
{
    decltype(allocate()) memory = nullptr;
    std::string problem;
    try {
        memory = allocate();
    } catch (const error&) {
        problem = text_of_current_exception();
    }
    struct outcome {
        bool failed = false;
        char why[200]{};
    } mine;
    mine.failed = memory == nullptr;
    problem.copy(mine.why, sizeof mine.why - 1);
    int r = 0;
    for (const void* theirs : comm.exchange(&mine, sizeof mine, "allocate")) {
        const auto& other = *static_cast<const outcome*>(theirs);
        if (other.failed) {
            if (memory != nullptr) { free(memory); }
            throw error({"rank ", r, ": ", other.why});
        }
        ++r;
    }
    return memory;
}

}  // namespace plait::detail
