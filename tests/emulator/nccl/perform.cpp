// What collectives and messages do, once all of their calls have begun. What a rank learns of the others' work before
// is no more than the data that it receives implies.
#include "exchange.hpp"
#include "reduce.hpp"

#include <algorithm>
#include <cstring>

namespace emulator::nccl {
namespace {

operation& work_of(const arrival& a) { return *a.by->on_stream; }

const void* at(const void* base, std::size_t bytes) { return static_cast<const std::uint8_t*>(base) + bytes; }
void* at(void* base, std::size_t bytes) { return static_cast<std::uint8_t*>(base) + bytes; }

bool agree(const std::vector<arrival>& ranks)
{
    const call& first = ranks[0].what();
    for (const arrival& r : ranks) {
        const call& c = r.what();
        if (c.kind != first.kind || c.count != first.count || c.type != first.type || c.root != first.root ||
            !c.how.same_as(first.how)) {
            extension::report_misuse("ranks of a communicator do not agree: " + work_of(ranks[0]).what + ", but " +
                                     work_of(r).what);
            break_clique(*r.by->of->all, ncclInvalidUsage);
            return false;
        }
    }
    return true;
}

/// The block of `bytes` from rank `from`'s send buffer goes to rank `to`.
void move(const arrival& from, std::size_t send_offset, const arrival& to, std::size_t receive_offset,
          std::size_t bytes)
{
    if (bytes == 0) { return; }
    extension::copy(work_of(from), at(from.what().send, send_offset), work_of(to),
                    at(to.what().receive, receive_offset), bytes);
    if (from.by != to.by) { extension::learn(work_of(to), work_of(from)); }
}

void learn_from_all(const arrival& to, const std::vector<arrival>& ranks)
{
    for (const arrival& r : ranks) {
        if (r.by != to.by) { extension::learn(work_of(to), work_of(r)); }
    }
}

/// The factor of a premultiplied sum that lies in device memory is read when the work runs.
reduction resolved(const arrival& a)
{
    reduction how = a.what().how;
    if (how.factor_memory == nullptr) { return how; }
    const std::size_t bytes = size_of(a.what().type);
    if (const std::uint8_t* b = extension::read(work_of(a), how.factor_memory, bytes, true)) {
        std::memcpy(&how.factor, b, bytes);
    }
    return how;
}

/// The reduction of `count` values; empty when some could not be read.
std::vector<std::uint8_t> reduced(const std::vector<arrival>& ranks, std::size_t count)
{
    const std::size_t bytes = count * size_of(ranks[0].what().type);
    std::vector<term> terms;
    for (const arrival& r : ranks) {
        const std::uint8_t* values = extension::read(work_of(r), r.what().send, bytes, true);
        if (values == nullptr) { return {}; }
        terms.push_back({values, resolved(r)});
    }
    // NCCL promises no order of the sum.
    const std::uint32_t first = extension::choose(static_cast<std::uint32_t>(terms.size()));
    std::rotate(terms.begin(), terms.begin() + first, terms.end());
    std::vector<std::uint8_t> result(bytes);
    reduce(ranks[0].what().type, terms, count, result.data());
    return result;
}

void reduce_to(const std::vector<arrival>& ranks, std::size_t first, std::size_t last)
{
    const std::size_t count = ranks[0].what().count;
    const std::vector<std::uint8_t> result = reduced(ranks, count);
    if (result.empty()) { return; }
    for (std::size_t r = first; r < last; ++r) {
        extension::write(work_of(ranks[r]), ranks[r].what().receive, result.data(), result.size());
        learn_from_all(ranks[r], ranks);
    }
}

void reduce_and_scatter(const std::vector<arrival>& ranks)
{
    const std::size_t bytes = ranks[0].what().count * size_of(ranks[0].what().type);
    const std::vector<std::uint8_t> result = reduced(ranks, ranks[0].what().count * ranks.size());
    if (result.empty()) { return; }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        extension::write(work_of(ranks[r]), ranks[r].what().receive, result.data() + r * bytes, bytes);
        learn_from_all(ranks[r], ranks);
    }
}

}  // namespace

void perform(const std::vector<arrival>& ranks)
{
    if (!agree(ranks)) { return; }
    const call& first = ranks[0].what();
    const std::size_t bytes = first.count * size_of(first.type);
    const std::size_t n = ranks.size();
    const auto root = static_cast<std::size_t>(first.root);
    switch (first.kind) {
    case call_kind::all_reduce: return reduce_to(ranks, 0, n);
    case call_kind::reduce: return reduce_to(ranks, root, root + 1);
    case call_kind::reduce_scatter: return reduce_and_scatter(ranks);
    case call_kind::broadcast:
        for (std::size_t r = 0; r < n; ++r) { move(ranks[root], 0, ranks[r], 0, bytes); }
        return;
    case call_kind::all_gather:
        for (std::size_t k = 0; k < n; ++k) {
            for (std::size_t r = 0; r < n; ++r) { move(ranks[k], 0, ranks[r], k * bytes, bytes); }
        }
        return;
    case call_kind::all_to_all:
        for (std::size_t k = 0; k < n; ++k) {
            for (std::size_t r = 0; r < n; ++r) { move(ranks[k], r * bytes, ranks[r], k * bytes, bytes); }
        }
        return;
    case call_kind::gather:
        for (std::size_t k = 0; k < n; ++k) { move(ranks[k], 0, ranks[root], k * bytes, bytes); }
        return;
    case call_kind::scatter:
        for (std::size_t r = 0; r < n; ++r) { move(ranks[root], r * bytes, ranks[r], 0, bytes); }
        return;
    default: return;
    }
}

void perform_message(const arrival& send, const arrival& receive)
{
    const call& from = send.what();
    const call& to = receive.what();
    if (from.count * size_of(from.type) != to.count * size_of(to.type)) {
        extension::report_misuse("ranks of a communicator do not agree: " + work_of(send).what + " sends " +
                                 describe(from) + ", but " + work_of(receive).what + " expects " + describe(to));
        return break_clique(*send.by->of->all, ncclInvalidUsage);
    }
    move(send, 0, receive, 0, from.count * size_of(from.type));
}

}  // namespace emulator::nccl
