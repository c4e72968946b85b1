#include "frames.hpp"

#include "../counters/launch_counters.hpp"
#include "../memory/windows.hpp"
#include "../schedule/progress.hpp"
#include "../schedule/settings.hpp"
#include "barriers.hpp"

#include <algorithm>

namespace emulator {
namespace {

std::uint32_t special_value(const warp& w, special which, unsigned lane)
{
    const block& b = *w.owner;
    const launch& k = *b.owner;
    const std::uint32_t t = w.number * n_lanes + lane;
    const std::uint64_t workspace = k.workspace != nullptr ? k.workspace->begin : 0;
    switch (which) {
    case special::tid_x: return t % k.threads.x;
    case special::tid_y: return t / k.threads.x % k.threads.y;
    case special::tid_z: return t / k.threads.x / k.threads.y;
    case special::ntid_x: return k.threads.x;
    case special::ntid_y: return k.threads.y;
    case special::ntid_z: return k.threads.z;
    case special::ctaid_x:
    case special::clusterid_x: return b.index.x;
    case special::ctaid_y:
    case special::clusterid_y: return b.index.y;
    case special::ctaid_z:
    case special::clusterid_z: return b.index.z;
    case special::nctaid_x:
    case special::nclusterid_x: return k.grid.x;
    case special::nctaid_y:
    case special::nclusterid_y: return k.grid.y;
    case special::nctaid_z:
    case special::nclusterid_z: return k.grid.z;
    case special::laneid: return lane;
    case special::warpid: return w.number;
    case special::nwarpid: return static_cast<std::uint32_t>(b.warps.size());
    case special::smid: return b.sm;
    case special::nsmid: return static_cast<std::uint32_t>(settings().device.multiprocessors);
    case special::gridid: return static_cast<std::uint32_t>(k.id);
    case special::lanemask_eq: return 1u << lane;
    case special::lanemask_lt: return (1u << lane) - 1;
    case special::lanemask_le: return (2u << lane) - 1;
    case special::lanemask_gt: return ~((2u << lane) - 1);
    case special::lanemask_ge: return ~((1u << lane) - 1);
    // Cooperative groups find the workspace of grid.sync here.
    case special::envreg1: return static_cast<std::uint32_t>(workspace >> 32);
    case special::envreg2: return static_cast<std::uint32_t>(workspace);
    case special::dynamic_smem_size: return k.dynamic_shared;
    case special::total_smem_size:
    case special::aggr_smem_size: return static_cast<std::uint32_t>(b.shared.size());
    case special::cluster_nctaid_x:
    case special::cluster_nctaid_y:
    case special::cluster_nctaid_z:
    case special::cluster_nctarank: return 1;
    default: return 0;
    }
}

bool is_wide(special s) { return s == special::gridid; }

void fill_specials(frame& f, const warp& w)
{
    for (const special_row& row : f.code->specials) {
        for (unsigned lane = 0; lane < n_lanes; ++lane) {
            const std::uint32_t value = special_value(w, row.which, lane);
            if (is_wide(row.which)) {
                reinterpret_cast<std::uint64_t*>(f.registers + row.offset)[lane] = value;
            } else {
                reinterpret_cast<std::uint32_t*>(f.registers + row.offset)[lane] = value;
            }
        }
    }
    for (const local_row& row : f.code->locals) {
        std::fill_n(reinterpret_cast<std::uint64_t*>(f.registers + row.offset), n_lanes, f.local_base + row.address);
    }
}

/// Memory of frames that have been left, a megabyte each at times: new memory costs more than what is done with it.
std::vector<std::vector<std::uint8_t>>& spare_storage()
{
    static auto* s = new std::vector<std::vector<std::uint8_t>>;  // kept: kernels may run in exit handlers
    return *s;
}

std::vector<std::uint8_t> zeroed_storage(std::size_t size)
{
    std::vector<std::uint8_t> storage;
    if (!spare_storage().empty()) {
        storage = std::move(spare_storage().back());
        spare_storage().pop_back();
    }
    storage.assign(size, 0);
    return storage;
}

}  // namespace

frame& enter(warp& w, const function& f, std::uint32_t lanes, frame* caller, const instruction* call)
{
    frame& made = *w.stack.emplace_back(std::make_unique<frame>());
    made.code = &f;
    made.caller = caller;
    made.call = call;
    made.return_to = call != nullptr ? call + 1 : nullptr;
    made.lanes = lanes;
    made.depth = caller != nullptr ? caller->depth + 1 : 0;
    if (made.depth > 1000) { throw kernel_fault{719}; }  // a stack overflow
    made.storage = zeroed_storage(f.register_bytes + 64);
    made.registers = made.storage.data() + (64 - reinterpret_cast<std::uint64_t>(made.storage.data()) % 64) % 64;
    made.constants = f.owner->constants(f, w.owner->owner->device);
    made.counts = w.owner->owner->counters->of(f);
    made.parameters.resize(std::size_t{f.frame_bytes} * n_lanes);
    made.local_base = caller != nullptr ? (caller->local_base + caller->code->local_bytes + 15) / 16 * 16 : 0;
    for_lanes(lanes, [&](unsigned l) {
        auto& local = w.local[l];
        if (local.size() < made.local_base + f.local_bytes) {
            const std::size_t before = local.size();
            local.resize(made.local_base + f.local_bytes);
            poison(local.data() + before, local.size() - before);
        }
        w.frames[l] = &made;
        w.pc[l] = f.code.data();
    });
    fill_specials(made, w);
    return made;
}

void leave(warp& w, frame& f, std::uint32_t lanes)
{
    f.lanes &= ~lanes;
    if (f.lanes != 0) { return; }
    constexpr std::size_t most_spares = 256;
    if (spare_storage().size() < most_spares) { spare_storage().push_back(std::move(f.storage)); }
    std::erase_if(w.stack, [&](const auto& kept) { return kept.get() == &f; });
}

namespace {

void copy_lane(frame& to, const frame& from, unsigned lane)
{
    for (const operand& row : from.code->rows) {
        if (row.width == 0) {
            const auto bits = *reinterpret_cast<const std::uint32_t*>(from.registers + row.offset);
            auto& kept = *reinterpret_cast<std::uint32_t*>(to.registers + row.offset);
            kept = (kept & ~(1u << lane)) | (bits & 1u << lane);
        } else {
            const std::size_t slot = row.width == 8 ? 8 : 4;
            std::copy_n(from.registers + row.offset + slot * lane, slot, to.registers + row.offset + slot * lane);
        }
    }
    const std::size_t size = from.code->frame_bytes;
    std::copy_n(from.parameters.begin() + static_cast<std::ptrdiff_t>(size * lane), size,
                to.parameters.begin() + static_cast<std::ptrdiff_t>(size * lane));
}

}  // namespace

bool merge_frames(warp& w, std::uint32_t lanes)
{
    frame& into = *w.frames[static_cast<unsigned>(std::countr_zero(lanes))];
    bool same = true;
    for_lanes(lanes, [&](unsigned l) {
        const frame& f = *w.frames[l];
        same &= f.code == into.code && f.caller == into.caller && f.call == into.call;
    });
    if (!same) { return false; }
    for_lanes(lanes, [&](unsigned l) {
        frame& f = *w.frames[l];
        if (&f == &into) { return; }
        copy_lane(into, f, l);
        into.lanes |= 1u << l;
        w.frames[l] = &into;
        leave(w, f, 1u << l);
    });
    return true;
}

void exit_lanes(warp& w, std::uint32_t lanes)
{
    lanes &= w.alive;
    for_lanes(lanes, [&](unsigned l) {
        for (frame* f = w.frames[l]; f != nullptr;) {
            frame* caller = f->caller;
            leave(w, *f, 1u << l);
            f = caller;
        }
        w.frames[l] = nullptr;
    });
    w.alive &= ~lanes;
    w.owner->alive -= static_cast<std::uint32_t>(std::popcount(lanes));
    w.owner->somebody_exited = true;
    note_progress();
    release_lanes_in_sync(w);
    if (w.owner->alive != 0) { complete_barriers(*w.owner); }
}

context context_of(warp& w, frame& f, std::uint32_t lanes)
{
    context c;
    c.bank[0] = f.registers;
    c.bank[1] = const_cast<std::uint8_t*>(f.constants);
    c.mask = c.group = lanes;
    c.w = &w;
    c.b = w.owner;
    c.k = w.owner->owner;
    c.f = &f;
    return c;
}

void start_threads(block& b)
{
    b.n_threads = b.alive = static_cast<std::uint32_t>(b.owner->threads.count());
    b.warps.resize((b.n_threads + n_lanes - 1) / n_lanes);
    for (unsigned n = 0; n < b.warps.size(); ++n) {
        warp& w = b.warps[n];
        w.owner = &b;
        w.number = n;
        const std::uint32_t threads = std::min(b.n_threads - n * n_lanes, n_lanes);
        w.started = w.alive = threads == n_lanes ? ~0u : (1u << threads) - 1;
        enter(w, *b.owner->kernel, w.alive, nullptr, nullptr);
    }
    for (block_barrier& bar : b.barriers) { bar.lanes.assign(b.warps.size(), 0); }
}

}  // namespace emulator
