#include "order.hpp"

#include "../schedule/settings.hpp"
#include "shadow.hpp"
#include "thread_order.hpp"

namespace emulator {
namespace {

clock_pointer host_clock;

bool off() { return !settings().check_races; }

/// Clocks are shared: many threads know the same. Joins each different one once.
class join_once {
  public:
    void add(const clock_pointer& c)
    {
        if (c && c != last_) {
            sum_ = joined(sum_, c);
            last_ = c;
        }
    }
    clock_data copy() const { return sum_ ? *sum_ : clock_data{}; }
    const clock_pointer& sum() const { return sum_; }

  private:
    clock_pointer sum_;
    clock_pointer last_;
};

}  // namespace

block::block() = default;
block::~block() { running_blocks().erase(id); }

std::unordered_map<std::uint32_t, block_order*>& running_blocks()
{
    static auto* m = new std::unordered_map<std::uint32_t, block_order*>;
    return *m;
}

void order_enqueue(operation& o) { o.begin_clock = host_clock; }

void order_begin(operation& o)
{
    join_once all;
    all.add(o.begin_clock);
    for (const auto& before : o.after) { all.add(before->end_clock); }
    auto begin = std::make_shared<clock_data>(all.copy());
    begin->prune();
    o.begin_clock = begin;
    o.end_clock = begin;
    auto names = std::make_unique<launch_names>();
    names->what = o.what;
    if (o.kernel) {
        names->kernel = o.kernel->kernel;
        names->grid_x = o.kernel->grid.x;
        names->grid_y = o.kernel->grid.y;
        names->threads_x = o.kernel->threads.x;
        names->threads_y = o.kernel->threads.y;
    }
    // Kept for reports about accesses of operations that have ended.
    o.record = new_block_record({o.timeline, o.sequence, o.device, 0, names.release()});
}

void order_end(operation& o)
{
    auto end = std::make_shared<clock_data>(o.end_clock ? *o.end_clock : clock_data{});
    end->add_finished(o.timeline, o.sequence);
    end->prune();
    o.end_clock = end;
}

void order_host_waited(const operation& o)
{
    if (o.end_clock && o.end_clock != host_clock) { host_clock = joined(host_clock, o.end_clock); }
}

void order_block_begin(operation& o, block& b)
{
    block_record r = record_of(o.record);
    r.number = b.number;
    b.id = new_block_record(r);
    b.order = std::make_unique<block_order>();
    b.order->threads.resize(b.n_threads);
    for (thread_order& t : b.order->threads) { t.known.base = o.begin_clock; }
    b.shadow = std::make_unique<shadow_memory>(b.shared.size());
    running_blocks()[b.id] = b.order.get();
}

void order_block_end(operation& o, block& b)
{
    join_once all;
    all.add(o.end_clock);
    for (const thread_order& t : b.order->threads) { all.add(t.known.folded()); }
    o.end_clock = all.sum();
}

std::shared_ptr<const knowledge> published(block& b, unsigned thread)
{
    thread_order& t = b.order->threads[thread];
    auto made = std::make_shared<knowledge>(t.known);
    made->add(thread_key(b.id, thread), t.epoch);
    t.epoch = ++b.order->epochs;
    return made;
}

void order_fence(context& c, const instruction& i)
{
    if (off()) { return; }
    // fence.acq_rel.cta takes in what was seen of the block only, and so on outwards.
    const unsigned reach = i.scope == scope::system ? 3 : i.scope == scope::device ? 2 : 1;
    const std::uint64_t now = next_store_sequence++;
    for_lanes(c.mask, [&](unsigned l) {
        const unsigned thread = c.w->number * n_lanes + l;
        thread_order& t = c.b->order->threads[thread];
        for (unsigned k = 0; k < reach; ++k) {
            t.known.learn(t.seen[k]);
            t.seen[k] = {};
        }
        t.fenced = published(*c.b, thread);
        t.fence_scope = static_cast<std::uint8_t>(i.scope);
        if (i.order == ordering::sequential) { t.last_sequential = now; }
    });
}

void order_arrive(block& b, unsigned barrier, unsigned thread, bool waits)
{
    if (off()) { return; }
    barrier_order& bar = b.order->barriers[barrier];
    thread_order& t = b.order->threads[thread];
    t.known.learn(t.seen[0]);
    t.seen[0] = {};
    bar.joined = joined(bar.joined, t.known.folded());
    bar.arrived.push_back({static_cast<std::uint16_t>(thread), t.epoch});
    if (!waits) { t.epoch = ++b.order->epochs; }
}

void order_barrier(block& b, unsigned barrier, const std::vector<std::uint32_t>& waited)
{
    if (off()) { return; }
    barrier_order& bar = b.order->barriers[barrier];
    auto all = std::make_shared<clock_data>(bar.joined ? *bar.joined : clock_data{});
    const std::uint32_t now = b.order->epochs;
    bool whole = true;
    for (const warp& w : b.warps) { whole &= waited[w.number] == w.started; }
    if (whole) {
        all->add_block(b.id, now);
        b.order->met = now;
    } else {
        std::vector<std::uint32_t> arrived(b.warps.size());
        for (const auto& [thread, epoch] : bar.arrived) { arrived[thread / n_lanes] |= 1u << thread % n_lanes; }
        for (const warp& w : b.warps) {
            if (waited[w.number] == w.started) { all->add_warp(b.id, w.number, now); }
        }
        for (const auto& [thread, epoch] : bar.arrived) {
            if (waited[thread / n_lanes] != b.warps[thread / n_lanes].started) { all->add_thread(b.id, thread, epoch); }
        }
    }
    all->prune();
    const std::uint32_t next = ++b.order->epochs;
    for (const warp& w : b.warps) {
        for_lanes(waited[w.number], [&](unsigned l) {
            thread_order& t = b.order->threads[w.number * n_lanes + l];
            t.known = {all, {}};
            t.epoch = next;
        });
    }
    bar = barrier_order{};
}

void order_warp(warp& w, std::uint32_t lanes)
{
    if (off()) { return; }
    block& b = *w.owner;
    const unsigned first = w.number * n_lanes;
    join_once sum;
    for_lanes(lanes, [&](unsigned l) {
        thread_order& t = b.order->threads[first + l];
        t.known.learn(t.seen[0]);
        t.seen[0] = {};
        sum.add(t.known.folded());
    });
    auto all = std::make_shared<clock_data>(sum.copy());
    if (lanes == w.started) {
        all->add_warp(b.id, w.number, b.order->epochs);
    } else {
        for_lanes(lanes, [&](unsigned l) { all->add_thread(b.id, first + l, b.order->threads[first + l].epoch); });
    }
    all->prune();
    const std::uint32_t next = ++b.order->epochs;
    for_lanes(lanes, [&](unsigned l) {
        thread_order& t = b.order->threads[first + l];
        t.known = {all, {}};
        t.epoch = next;
    });
}

}  // namespace emulator
