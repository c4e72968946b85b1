#include "residency.hpp"

#include <algorithm>

namespace emulator {
namespace {

constexpr unsigned registers_per_multiprocessor = 65536;

unsigned shared_limit() { return static_cast<unsigned>(settings().device.shared_per_multiprocessor); }
unsigned thread_limit() { return static_cast<unsigned>(settings().device.threads_per_multiprocessor); }
unsigned block_limit() { return static_cast<unsigned>(settings().device.blocks_per_multiprocessor); }

}  // namespace

block_needs needs_of(const function& f, unsigned threads, std::size_t dynamic_shared)
{
    block_needs n;
    n.threads = (threads + n_lanes - 1) / n_lanes * n_lanes;
    const std::size_t bytes = f.shared_bytes + dynamic_shared;
    n.shared =
        static_cast<unsigned>((bytes + 127) / 128 * 128) + static_cast<unsigned>(settings().device.reserved_shared);
    // What ptxas would use is unknown here; 32 registers a thread let 2048 threads run, as most kernels of the tests
    // do.
    n.registers = n.threads * 32;
    return n;
}

block_needs needs_of(const launch& k)
{
    return needs_of(*k.kernel, static_cast<unsigned>(k.threads.count()), k.dynamic_shared);
}

unsigned blocks_per_multiprocessor(const block_needs& n)
{
    if (n.threads == 0) { return 0; }
    return std::min({block_limit(), thread_limit() / n.threads, shared_limit() / std::max(n.shared, 1u),
                     registers_per_multiprocessor / std::max(n.registers, 1u)});
}

int residency::place(const block_needs& n)
{
    int best = -1;
    for (std::size_t k = 0; k < multiprocessors_.size(); ++k) {
        const usage& u = multiprocessors_[k];
        const bool fits = u.blocks < block_limit() && u.threads + n.threads <= thread_limit() &&
                          u.shared + n.shared <= shared_limit() &&
                          u.registers + n.registers <= registers_per_multiprocessor;
        if (fits && (best < 0 || u.threads < multiprocessors_[static_cast<std::size_t>(best)].threads)) {
            best = static_cast<int>(k);
        }
    }
    if (best >= 0) {
        usage& u = multiprocessors_[static_cast<std::size_t>(best)];
        ++u.blocks;
        u.threads += n.threads;
        u.shared += n.shared;
        u.registers += n.registers;
    }
    return best;
}

void residency::remove(unsigned multiprocessor, const block_needs& n)
{
    usage& u = multiprocessors_[multiprocessor];
    --u.blocks;
    u.threads -= n.threads;
    u.shared -= n.shared;
    u.registers -= n.registers;
}

}  // namespace emulator
