#include "requests.hpp"

#include "../memory/windows.hpp"
#include "launch_counters.hpp"

#include <algorithm>

namespace emulator {
namespace {

/// Different aligned pieces of 32 bytes that the lanes touch.
unsigned sectors(const request& r, std::uint32_t lanes)
{
    std::array<std::uint64_t, 2 * n_lanes> touched;
    unsigned n = 0;
    for_lanes(lanes, [&](unsigned l) {
        const std::uint64_t first = r.address[l] / 32;
        const std::uint64_t last = (r.address[l] + r.bytes - 1) / 32;
        // Lanes mostly go upwards: the last piece is the likely one.
        if (n == 0 || touched[n - 1] != first) { touched[n++] = first; }
        if (last != first) { touched[n++] = last; }
    });
    if (std::is_sorted(touched.begin(), touched.begin() + n)) {
        return static_cast<unsigned>(std::unique(touched.begin(), touched.begin() + n) - touched.begin());
    }
    std::sort(touched.begin(), touched.begin() + n);
    return static_cast<unsigned>(std::unique(touched.begin(), touched.begin() + n) - touched.begin());
}

// 32 banks of 4 bytes. A request of 8 bytes a lane goes in two halves of the warp, of 16 bytes in four quarters; lanes
// that use the same word share it.
unsigned bank_passes(const request& r, std::uint32_t lanes)
{
    const unsigned parts = r.bytes <= 4 ? 1 : r.bytes == 8 ? 2 : 4;
    const unsigned width = n_lanes / parts;
    unsigned passes = 0;
    for (unsigned part = 0; part < parts; ++part) {
        std::array<std::uint64_t, 8 * n_lanes> words;
        std::array<std::uint64_t, 32> in_bank{};
        bool conflict = false;
        unsigned n = 0;
        const std::uint32_t mask = width == 32 ? ~0u : ((1u << width) - 1) << (part * width);
        for_lanes(lanes & mask, [&](unsigned l) {
            for (std::uint64_t w = r.address[l] / 4; w <= (r.address[l] + r.bytes - 1) / 4 && n < words.size(); ++w) {
                std::uint64_t& other = in_bank[w % 32];
                conflict |= other != 0 && other != w + 1;
                other = w + 1;
                words[n++] = w;
            }
        });
        if (!conflict) {  // the usual case
            passes += n != 0 ? 1 : 0;
            continue;
        }
        std::sort(words.begin(), words.begin() + n);
        const auto end = std::unique(words.begin(), words.begin() + n);
        std::array<unsigned, 32> bank{};
        unsigned most = 0;
        for (auto w = words.begin(); w != end; ++w) { most = std::max(most, ++bank[*w % 32]); }
        passes += most;
    }
    return passes;
}

unsigned ideal_passes(const request& r, std::uint32_t lanes)
{
    const unsigned parts = r.bytes <= 4 ? 1 : r.bytes == 8 ? 2 : 4;
    unsigned used = 0;
    for (unsigned part = 0; part < parts; ++part) {
        const unsigned width = n_lanes / parts;
        used += (lanes & (width == 32 ? ~0u : ((1u << width) - 1) << (part * width))) != 0 ? 1 : 0;
    }
    return used;
}

void add(space_counters& s, const request& r, std::uint32_t lanes, unsigned n_sectors)
{
    const std::uint64_t bytes = std::uint64_t{r.bytes} * static_cast<unsigned>(std::popcount(lanes));
    if (r.is_atomic) { ++s.atomics; }
    if (r.is_store || r.is_atomic) {
        s.store_requests += r.is_atomic ? 0 : 1;
        s.bytes_stored += r.is_atomic ? 0 : bytes;
        s.sectors_stored += r.is_atomic ? 0 : n_sectors;
    } else {
        ++s.load_requests;
        s.bytes_loaded += bytes;
        s.sectors_loaded += n_sectors;
    }
    if (r.bytes == 16 && !r.is_atomic) {
        ++s.wide_requests;
        s.wide_bytes += bytes;
    }
}

}  // namespace

void count_request(context& c, const instruction& i, const request& r)
{
    launch_counters& counters = *c.k->counters;
    std::uint32_t shared = i.space == space::shared ? r.lanes : 0;
    std::uint32_t local = i.space == space::local ? r.lanes : 0;
    if (i.space == space::generic) {
        for_lanes(r.lanes, [&](unsigned l) {
            std::uint64_t address = r.address[l];
            const space s = resolve_generic(address);
            shared |= std::uint32_t{s == space::shared} << l;
            local |= std::uint32_t{s == space::local} << l;
        });
    }
    const std::uint32_t global = r.lanes & ~shared & ~local;
    if (global != 0) { add(counters.global, r, global, sectors(r, global)); }
    if (local != 0) { add(counters.local, r, local, 0); }
    if (shared != 0) {
        add(counters.shared, r, shared, 0);
        const unsigned passes = bank_passes(r, shared);
        const unsigned ideal = ideal_passes(r, shared);
        counters.bank_conflicts += passes > ideal ? passes - ideal : 0;
    }
}

}  // namespace emulator
