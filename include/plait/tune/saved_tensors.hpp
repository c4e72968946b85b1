// The tensors that a program writes, kept aside while a tuner runs it for the sake of its time alone.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/plan/arguments.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait::detail {

/// Takes a copy when made, and puts it back on demand. `copy(to, from, bytes)` reaches host and device memory; the copy
/// lies in the host's.
template <class Copy>
class saved_tensors {
  public:
    saved_tensors(const arguments& args, Copy copy) : copy_(copy)
    {
        const program_image& image = args.image();
        std::size_t total = 0;
        for (int s = 0; s < image.n_slots(); ++s) {
            const slot& one = image.slot_of(s);
            if (!one.is_tensor || !one.written || !args.holds(s)) { continue; }
            const std::size_t size = size_of(image.slot_node(s).type);
            args.for_each_block(s, [&](void* data, std::int64_t count) {
                if (count <= 0) { return; }
                blocks_.push_back({data, static_cast<std::size_t>(count) * size});
                total += blocks_.back().bytes;
            });
        }
        bytes_.resize(total);
        std::byte* at = bytes_.data();
        for (const block& b : blocks_) { at = (copy_(at, b.data, b.bytes), at + b.bytes); }
    }

    void restore() const
    {
        const std::byte* at = bytes_.data();
        for (const block& b : blocks_) { at = (copy_(b.data, at, b.bytes), at + b.bytes); }
    }

  private:
    struct block {
        void* data;
        std::size_t bytes;
    };
    Copy copy_;
    std::vector<block> blocks_;
    std::vector<std::byte> bytes_;
};

}  // namespace plait::detail
