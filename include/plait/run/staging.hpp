// Copies of tensors that other ranks must reach but cannot: plain memory on a fabric whose ranks are processes.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/dtype.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait::detail {

/// Which tensors of a run are staged, and their copies into workspace before it and back after it.
class staging {
  public:
    explicit staging(arguments& args)
        : args_(args), given_(static_cast<std::size_t>(args.image().n_slots())), staged_(given_.size())
    {
    }

    /// Takes note of the buffers that were bound, before the arguments point to their copies.
    void remember()
    {
        for (int s = 0; s < args_.image().n_slots(); ++s) {
            if (args_.image().slot_of(s).is_tensor && args_.holds(s)) { given_[static_cast<std::size_t>(s)] = args_.buffer(s); }
        }
    }
    /// Says whether a slot is staged from now on. One that no longer is gets the buffer back that was bound.
    void set(int slot, bool is_staged)
    {
        const auto at = static_cast<std::size_t>(slot);
        if (staged_[at] && !is_staged && args_.holds(slot)) { args_.buffer(slot) = given_[at]; }
        staged_[at] = is_staged;
    }
    [[nodiscard]] bool is_staged(int slot) const { return staged_[static_cast<std::size_t>(slot)]; }

    /// Copies the buffers that were bound into workspace, by calls of copy(to, from, bytes). Returns whether anything is staged, on any rank.
    template <class Copy>
    bool copy_in(Copy&& copy) const
    {
        for_each([&](std::byte* staged, void* given, std::size_t bytes, bool) { copy(staged, given, bytes); });
        return contains(staged_, true);
    }
    /// Copies what a run has written back to the buffers that were bound.
    template <class Copy>
    void copy_out(Copy&& copy) const
    {
        for_each([&](std::byte* staged, void* given, std::size_t bytes, bool written) {
            if (written) { copy(given, staged, bytes); }
        });
    }

  private:
    template <class Copy>
    void for_each(Copy&& copy) const
    {
        for (int s = 0; s < args_.image().n_slots(); ++s) {
            if (!is_staged(s) || !args_.holds(s)) { continue; }
            const node& n = args_.image().slot_node(s);
            const bool written = args_.image().slot_of(s).written;
            const bound_buffer& given = given_[static_cast<std::size_t>(s)];
            std::byte* at = args_.buffer(s).data;
            const auto part = [&](void* from, std::int64_t count) {
                const std::size_t bytes = static_cast<std::size_t>(count) * size_of(n.type);
                if (bytes > 0) { copy(at, from, bytes, written); }
                at += bytes;
            };
            for (const piece& p : given.pieces) { part(p.data, p.count); }
            if (given.pieces.empty()) { part(given.data, args_.stored_elements_of(n)); }
        }
    }

    arguments& args_;
    std::vector<bound_buffer> given_;  // by slot
    std::vector<bool> staged_;
};

}  // namespace plait::detail
