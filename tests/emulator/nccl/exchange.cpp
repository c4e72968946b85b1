#include "exchange.hpp"

#include "error.hpp"

namespace emulator::nccl {
namespace {

std::string name_of(const ncclComm& c)
{
    return "rank " + std::to_string(c.rank) + " of " + std::to_string(c.ranks) +
           (c.all->number > 1 ? " of communicator " + std::to_string(c.all->number) : "");
}

std::string why_not_there(const ncclComm* other, std::uint64_t calls, std::uint64_t sequence)
{
    if (other == nullptr) { return "which has left the communicator"; }
    if (other->lost) { return "which was lost"; }
    return calls > sequence ? "whose stream has not come to it" : "which has not called it";
}

/// Whom the calls that have begun wait for.
std::string missing(const transfer& t)
{
    const ncclComm& c = *t.of;
    if (c.lost) { return "nothing: the rank was lost"; }
    if (c.all->broken) { return "nothing: the communicator has an asynchronous error"; }
    std::string text;
    for (std::size_t k = 0; k < t.calls.size(); ++k) {
        const call& asked = t.calls[k];
        if (t.done[k]) { continue; }
        const std::string begin = (text.empty() ? "" : "; ") + describe(asked) + ": ";
        if (asked.is_message()) {
            const auto peer = static_cast<std::size_t>(asked.root);
            const ncclComm* other = c.all->ranks[peer];
            const auto me = static_cast<std::size_t>(c.rank);
            const std::uint64_t calls = other == nullptr                ? 0
                                        : asked.kind == call_kind::send ? other->received[me]
                                                                        : other->sent[me];
            text += begin + "rank " + std::to_string(peer) + ", " + why_not_there(other, calls, asked.sequence);
            continue;
        }
        const auto at = c.all->collectives.find(asked.sequence);
        for (std::size_t r = 0; at != c.all->collectives.end() && r < c.all->ranks.size(); ++r) {
            if (at->second.ranks[r].by) { continue; }
            const ncclComm* other = c.all->ranks[r];
            text += (text.find(begin) == std::string::npos ? begin : ", ") + "rank " + std::to_string(r) + ", " +
                    why_not_there(other, other == nullptr ? 0 : other->collectives, asked.sequence);
        }
    }
    return text;
}

void end_call(const arrival& a)
{
    transfer& t = *a.by;
    t.done[a.index] = true;
    if (--t.left == 0) {
        const std::shared_ptr<transfer> kept = a.by;
        t.of->open.erase(kept);
        extension::complete(*t.on_stream);
    }
}

void arrive_at_collective(const arrival& a)
{
    ncclComm& c = *a.by->of;
    clique& all = *c.all;
    collective_slot& slot = all.collectives[a.what().sequence];
    slot.ranks.resize(all.ranks.size());
    slot.ranks[static_cast<std::size_t>(c.rank)] = a;
    if (++slot.n < slot.ranks.size()) { return; }
    const std::vector<arrival> ranks = std::move(slot.ranks);
    all.collectives.erase(a.what().sequence);
    perform(ranks);
    for (const arrival& r : ranks) { end_call(r); }
}

void arrive_at_message(const arrival& a)
{
    ncclComm& c = *a.by->of;
    const auto me = static_cast<std::uint64_t>(c.rank);
    const auto peer = static_cast<std::uint64_t>(a.what().root);
    const bool sends = a.what().kind == call_kind::send;
    const std::array<std::uint64_t, 3> key{sends ? me : peer, sends ? peer : me, a.what().sequence};
    auto& others = sends ? c.all->receives : c.all->sends;
    const auto at = others.find(key);
    if (at == others.end()) {
        (sends ? c.all->sends : c.all->receives)[key] = a;
        return;
    }
    const arrival other = at->second;
    others.erase(at);
    perform_message(sends ? a : other, sends ? other : a);
    end_call(a);
    end_call(other);
}

/// Makes the calls as if they had not begun.
void withdraw(const transfer& t)
{
    clique& all = *t.of->all;
    const auto of_transfer = [&](const auto& entry) { return entry.second.by.get() == &t; };
    std::erase_if(all.sends, of_transfer);
    std::erase_if(all.receives, of_transfer);
    for (auto& [sequence, slot] : all.collectives) {
        arrival& mine = slot.ranks[static_cast<std::size_t>(t.of->rank)];
        if (mine.by.get() == &t) {
            mine = {};
            --slot.n;
        }
    }
}

void begin(const std::shared_ptr<transfer>& t, operation& o)
{
    ncclComm& c = *t->of;
    t->on_stream = &o;
    if (c.aborted) { return; }
    const int before = c.begun++;
    c.lost |= c.rank == c.settings.lost_rank && before >= c.settings.lost_after;
    if (c.settings.error != 0 && before >= c.settings.error_after) {
        break_clique(*c.all, static_cast<ncclResult_t>(c.settings.error));
    }
    c.open.insert(t);
    o.waits_for = [t] { return missing(*t); };
    o.given_up = [t] {
        withdraw(*t);
        t->of->open.erase(t);
        break_clique(*t->of->all, ncclSystemError);
    };
    if (c.lost || c.all->broken) { return; }
    for (std::size_t k = 0; k < t->calls.size(); ++k) {
        const arrival a{t, k};
        t->calls[k].is_message() ? arrive_at_message(a) : arrive_at_collective(a);
    }
}

/// Numbers the calls: the n-th collective of each rank is one with the others' n-th, and so for messages.
void number(ncclComm& c, transfer& t)
{
    for (call& asked : t.calls) {
        const auto peer = static_cast<std::size_t>(asked.root);
        asked.sequence = asked.kind == call_kind::send      ? c.sent[peer]++
                         : asked.kind == call_kind::receive ? c.received[peer]++
                                                            : c.collectives++;
    }
}

std::shared_ptr<operation> make(const std::shared_ptr<ncclComm>& c, const std::vector<call>& calls)
{
    if (!find(c.get())) { extension::stop("a graph with NCCL calls is launched after its communicator's end"); }
    const auto t = std::make_shared<transfer>();
    t->of = c;
    t->calls = calls;
    t->done.resize(calls.size());
    t->left = calls.size();
    number(*c, *t);
    auto o = extension::make_operation(c->device, [t](operation& self) { begin(t, self); });
    o->behind = c->last;  // the work of a communicator is in order, whatever its streams
    c->last = o;
    return o;
}

}  // namespace

ncclResult_t enqueue(const std::shared_ptr<ncclComm>& c, const std::vector<call>& calls, cudaStream_t stream)
{
    const std::string what =
        (calls.size() == 1 ? describe(calls[0]) : std::to_string(calls.size()) + " NCCL calls") + " of " + name_of(*c);
    const cudaError_t e = extension::submit(c->device, stream, what, [=] { return make(c, calls); });
    if (e == cudaSuccess) { return ncclSuccess; }
    return set_error(ncclUnhandledCudaError, what + ": " + cudaGetErrorString(e));
}

void break_clique(clique& all, ncclResult_t error)
{
    all.broken = true;
    for (ncclComm* c : all.ranks) {
        if (c != nullptr) { c->error = error; }
    }
}

void abandon(ncclComm& c)
{
    const auto open = std::exchange(c.open, {});
    for (const auto& t : open) {
        withdraw(*t);
        extension::complete(*t->on_stream);
    }
}

}  // namespace emulator::nccl
