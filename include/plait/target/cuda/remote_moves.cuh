// Passes of ranks that cannot load from each other: what a pass reads from them is received before it, what it writes for them is
// sent after it, on the stream.
#pragma once

#include <plait/fabric/stream_messages.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/plan.hpp>
#include <plait/run/chunks.hpp>
#include <plait/run/transfers.hpp>
#include <plait/target/cuda/device_memory.cuh>
#include <plait/target/cuda/launch.cuh>
#include <plait/target/cuda/map_layout.cuh>
#include <plait/target/cuda/packet.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace plait::cuda {

/// Copies a part of a value to memory without gaps, or back.
struct box_arguments {
    std::byte* memory = nullptr;  // where the part begins
    std::byte* packed = nullptr;
    std::int64_t words = 0;       // in all
    int dims = 0;                 // the last one along a run
    bool unpacks = false;
    std::int64_t count[max_dims + 1]{};
    std::int64_t stride[max_dims + 1]{};  // in words
};
template <int Bytes>
__global__ void __launch_bounds__(block_threads) box_kernel(const __grid_constant__ box_arguments a)
{
    using word = typename detail::word<Bytes>::type;
    const std::int64_t threads = std::int64_t{gridDim.x} * block_threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; i < a.words; i += threads) {
        std::int64_t rest = i;
        std::int64_t offset = 0;
        for (int d = a.dims - 1; d >= 0; --d) {
            offset += rest % a.count[d] * a.stride[d];
            rest /= a.count[d];
        }
        word* const at = reinterpret_cast<word*>(a.memory) + offset;
        word* const packed = reinterpret_cast<word*>(a.packed) + i;
        if (a.unpacks) { *at = *packed; }
        else { *packed = *at; }
    }
}

/// Messages that go at the same time.
template <class Communicator>
class message_launch : public launch {
  public:
    message_launch(Communicator& comm, std::string stage, std::vector<stream_message> all)
        : comm_(comm), stage_(std::move(stage)), all_(std::move(all))
    {
    }
    void enqueue(cudaStream_t stream) override
    {
        const named_range range(stage_.c_str());
        comm_.put_messages(all_, stage_, stream);
    }

  private:
    Communicator& comm_;
    std::string stage_;
    std::vector<stream_message> all_;
};

/// This rank's messages. For every rank that cannot load from this one it keeps a mirror of what its passes touch of that one's
/// buffers: kernels read and write mirrors as they would the buffers, in the same order.
template <class Communicator>
class remote_moves {
  public:
    remote_moves(Communicator& comm, arguments& args) : comm_(comm), args_(args), mirrors_(comm.scratch()), packed_(comm.scratch())
    {
        for (int r = 0; r < comm.size(); ++r) { any_ = any_ || !comm.shares(r); }
    }

    /// Whether some rank cannot load from this one.
    [[nodiscard]] bool any() const { return any_; }

    /// Puts mirrors in the place of buffers that this rank cannot reach. cut(p): the chunks that pass p runs in.
    template <class Cut>
    void place(Cut&& cut)
    {
        if (!any_) { return; }
        const auto n = static_cast<std::size_t>(args_.ranks());
        std::vector<range> touched(static_cast<std::size_t>(args_.image().n_slots()) * n);
        std::int64_t most_packed = 0;
        for (std::size_t p = 0; p < args_.image().plan.passes.size(); ++p) {
            const plait::detail::chunking c = cut(p);
            for (int i = 0; i < 2 * c.count; ++i) {
                std::int64_t packed = 0;
                for (const parcel& m : parcels(p, c, i / 2, i % 2 != 0)) {
                    packed += m.is_one_run() ? 0 : m.packed_bytes();
                    if (m.is_held) { continue; }
                    range& r = touched[static_cast<std::size_t>(m.slot) * n + static_cast<std::size_t>(m.in_group)];
                    r = r.end == 0 ? range{m.box.offset, m.box.end()} : range{std::min(r.begin, m.box.offset), std::max(r.end, m.box.end())};
                }
                most_packed = std::max(most_packed, packed);
            }
        }
        std::int64_t bytes = 0;
        for (const range& r : touched) { bytes += r.room(); }
        mirrors_.reserve(static_cast<std::size_t>(bytes));
        packed_.reserve(static_cast<std::size_t>(most_packed));
        auto at = reinterpret_cast<std::uintptr_t>(mirrors_.data());
        for (int s = 0; s < args_.image().n_slots(); ++s) {
            if (!args_.image().slot_of(s).peers_touch) { continue; }
            for (int r = 0; r < args_.ranks(); ++r) {
                if (comm_.shares(args_.holder_of(s, r))) { continue; }
                const range& t = touched[static_cast<std::size_t>(s) * n + static_cast<std::size_t>(r)];
                args_.buffer(s, r) = {t.end == 0 ? nullptr : place_mirror(s, at, t), {}};
                at += static_cast<std::uintptr_t>(t.room());
            }
        }
    }

    /// Launches that exchange what chunk k of pass p reads from other ranks, or has written for them.
    void build(std::size_t p, const plait::detail::chunking& c, int k, bool results, const pass_build& b, launch_list& list)
    {
        if (!any_) { return; }
        launch_list unpacking;
        std::vector<stream_message> all;
        std::byte* packed = packed_.data();
        for (const parcel& m : parcels(p, c, k, results)) {
            std::byte* memory = args_.buffer(m.slot, m.in_group).data + m.box.offset;
            if (m.what == purpose::none) { continue; }
            if (!m.is_one_run()) {
                (m.what == purpose::send ? list : unpacking).push_back(copy_of(m, memory, packed, b));
                memory = std::exchange(packed, packed + m.packed_bytes());
            }
            all.push_back({memory, static_cast<std::size_t>(m.box.bytes()), m.peer, as_message(m.what)});
        }
        if (all.empty()) { return; }
        list.push_back(std::make_unique<message_launch<Communicator>>(comm_, b.stage, std::move(all)));
        for (auto& l : unpacking) { list.push_back(std::move(l)); }
    }

  private:
    enum class purpose : std::uint8_t { send, receive, broadcast, all_gather, none };
    static stream_message::kind as_message(purpose p)
    {
        constexpr stream_message::kind all[] = {stream_message::kind::send, stream_message::kind::receive, stream_message::kind::broadcast, stream_message::kind::all_gather};
        return all[static_cast<int>(p)];
    }
    /// A message, and where its memory is in a slot; or only what this rank's pass touches there, as a collective brings the rest.
    struct parcel {
        plait::detail::byte_box box;
        int slot = -1;
        int in_group = 0;  // who holds it, in its group
        int peer = 0;
        int value = 0;         // which operand or result of the pass
        purpose what = purpose::none;
        bool is_held = false;  // by this rank; else it lies in a mirror

        [[nodiscard]] bool is_one_run() const { return box.bytes() == box.length; }
        [[nodiscard]] std::int64_t packed_bytes() const { return (box.bytes() + 255) / 256 * 256; }
    };
    struct range {
        std::int64_t begin = 0;
        std::int64_t end = 0;  // 0: nothing
        [[nodiscard]] std::int64_t room() const { return (end - begin + 15 + 255) / 256 * 256 * (end == 0 ? 0 : 1); }
    };

    [[nodiscard]] std::vector<parcel> parcels(std::size_t p, const plait::detail::chunking& c, int k, bool results) const
    {
        const pass_view& pass = args_.image().plan.passes[p];
        std::vector<parcel> all = collectives(pass, c, results);
        const auto n_collectives = static_cast<std::ptrdiff_t>(all.size());
        plait::detail::for_each_transfer(args_, p, [&](const plait::detail::transfer& t) {
            const bool sends = t.sender() == args_.world_rank();
            if (t.is_result != results || sends == (t.receiver() == args_.world_rank())) { return; }
            const int peer = sends ? t.receiver() : t.sender();
            if (comm_.shares(peer)) { return; }
            const bool is_done = std::any_of(all.begin(), all.begin() + n_collectives, [&](const parcel& m) { return m.value == t.value; });
            const purpose what = is_done ? purpose::none : sends ? purpose::send : purpose::receive;
            const auto add = [&](const host::chunk& within) {
                const plait::detail::byte_box box = box_of(pass, t, within);
                if (box.bytes() > 0) { all.push_back({box, t.slot, t.holder % args_.ranks(), peer, t.value, what, t.holder == args_.world_rank()}); }
            };
            if (c.extent < 0) { return add({}); }
            plait::detail::for_each_range(args_, pass, c, k, t.actor % args_.ranks(), add);
        });
        return all;
    }
    /// What all ranks of a whole pass have from one of them, or each has from all: moves that NCCL does better than messages.
    [[nodiscard]] std::vector<parcel> collectives(const pass_view& pass, const plait::detail::chunking& c, bool results) const
    {
        std::vector<parcel> all;
        const int n = args_.ranks();
        if (c.extent >= 0 || args_.world_size() != n) { return all; }
        const std::size_t values = results ? pass.results.size() : pass.operands.size();
        for (std::size_t i = 0; i < values; ++i) {
            const bool gathers = results && pass.results[i].to == destination::all_ranks;
            const bool broadcasts = !results && pass.operands[i].slot >= 0 && pass.operands[i].from == source::from_root;
            if (!gathers && !broadcasts) { continue; }
            plait::detail::transfer t;
            t.slot = gathers ? pass.results[i].slot : pass.operands[i].slot;
            t.is_result = t.to_all = gathers;
            const int root = broadcasts ? pass.operands[i].root : -1;
            t.actor = root == 0 ? 1 : 0;
            t.holder = gathers ? args_.world_rank() : root;
            const plait::detail::byte_box first = box_of(pass, t, {});
            bool alike = first.bytes() > 0 && first.bytes() == first.length;
            for (int a = 0; a < n && alike; ++a) {
                if (a == root) { continue; }
                t.actor = a;
                const plait::detail::byte_box box = box_of(pass, t, {});
                const std::int64_t offset = gathers ? a * first.length : first.offset;
                alike = box.bytes() == first.length && box.length == first.length && box.offset == offset;
            }
            if (!alike) { continue; }
            const bool is_held = t.holder == args_.world_rank();
            all.push_back({first, t.slot, t.holder, root, static_cast<int>(i), gathers ? purpose::all_gather : purpose::broadcast, is_held});
        }
        return all;
    }
    [[nodiscard]] plait::detail::byte_box box_of(const pass_view& pass, const plait::detail::transfer& t, const host::chunk& within) const
    {
        return plait::detail::box_of(args_, pass, t, within, is_two_shot(args_, args_.image().slot_node(t.slot)));
    }
    /// The address that a whole mirror would have whose touched part lies at `at`, aligned as this rank's own buffer is.
    [[nodiscard]] std::byte* place_mirror(int slot, std::uintptr_t at, const range& touched) const
    {
        const auto own = args_.holds(slot) ? reinterpret_cast<std::uintptr_t>(args_.buffer(slot).data) : 0;
        const auto begin = static_cast<std::uintptr_t>(touched.begin);
        return reinterpret_cast<std::byte*>(at + (own + begin) % 16 - begin);
    }
    static std::unique_ptr<launch> copy_of(const parcel& m, std::byte* memory, std::byte* packed, const pass_build& b)
    {
        std::uintptr_t all = reinterpret_cast<std::uintptr_t>(memory) | static_cast<std::uintptr_t>(m.box.length);
        for (int d = 0; d < m.box.dims; ++d) { all |= static_cast<std::uintptr_t>(m.box.stride[d]); }
        switch (all % 16 & (~(all % 16) + 1)) {
        case 1: return copy_by<1>(m.box, memory, packed, m.what != purpose::send, b);
        case 2: return copy_by<2>(m.box, memory, packed, m.what != purpose::send, b);
        case 4: return copy_by<4>(m.box, memory, packed, m.what != purpose::send, b);
        case 8: return copy_by<8>(m.box, memory, packed, m.what != purpose::send, b);
        default: return copy_by<16>(m.box, memory, packed, m.what != purpose::send, b);
        }
    }
    template <int Bytes>
    static std::unique_ptr<launch> copy_by(const plait::detail::byte_box& box, std::byte* memory, std::byte* packed, bool unpacks, const pass_build& b)
    {
        const auto* kernel = reinterpret_cast<const void*>(&box_kernel<Bytes>);
        auto l = std::make_unique<kernel_launch<box_arguments>>(b.stage, kernel);
        box_arguments& a = l->arguments;
        a.memory = memory;
        a.packed = packed;
        a.words = box.bytes() / Bytes;
        a.dims = box.dims + 1;
        a.unpacks = unpacks;
        for (int d = 0; d < box.dims; ++d) {
            a.count[d] = box.count[d];
            a.stride[d] = box.stride[d] / Bytes;
        }
        a.count[box.dims] = box.length / Bytes;
        a.stride[box.dims] = 1;
        l->blocks = blocks_for(b, a.words, kernel);
        return l;
    }

    Communicator& comm_;
    arguments& args_;
    bool any_ = false;
    device_block mirrors_;
    device_block packed_;
};

/// The same where all ranks can load from each other: there are none.
template <class Communicator>
    requires(!stream_messenger<Communicator, cudaStream_t>)
class remote_moves<Communicator> {
  public:
    remote_moves(Communicator&, arguments&) {}
    [[nodiscard]] static constexpr bool any() { return false; }
    template <class Cut>
    static void place(Cut&&)
    {
    }
    static void build(std::size_t, const plait::detail::chunking&, int, bool, const pass_build&, launch_list&) {}
};

}  // namespace plait::cuda
