// The board on which ranks of NCCL show each other records: a part of each one's symmetric memory, and kernels that write
// to those of all ranks and look at one's own.
#pragma once

#include <plait/fabric/kernel_meetings.cuh>

#include <cstddef>
#include <cstdint>

namespace plait::detail {

/// What lies where in the memory that a rank shares with all others from the start, in words of 4 bytes.
struct board_layout {
    static constexpr std::size_t text_words = 256;
    static constexpr std::size_t slot_words = 1024;

    constexpr explicit board_layout(int ranks)
        : n(static_cast<std::size_t>(ranks)),
          abandoned(cuda::kernel_meetings::words(ranks)),
          arrivals(abandoned + 32),
          failures(arrivals + n),
          texts(failures + n),
          slots(texts + n * text_words),
          words(slots + 2 * n * slot_words)
    {
    }
    std::size_t n;
    std::size_t abandoned;  // 1 + the rank that has failed last, or 0; before it, what kernels meet with
    std::size_t arrivals;   // by rank: how many records it has shown
    std::size_t failures;   // by rank: whether it has failed
    std::size_t texts;      // by rank: and why
    std::size_t slots;      // by parity and rank: its record. While some still read one, a rank may show the next
    std::size_t words;
};

/// Where the boards are.
struct board {
    std::uint32_t* const* of = nullptr;  // by rank, in a table on this device
    int rank = 0;
    int ranks = 1;
    board_layout at{1};
};

/// Writes words to all boards, and after them a flag.
__device__ inline void write_to_all(const board& b, std::size_t at, const std::uint32_t* from, std::size_t words,
                                    std::size_t flag, std::uint32_t value)
{
    for (int r = 0; r < b.ranks; ++r) {
        std::uint32_t* const to = b.of[r] + at;
        for (std::size_t i = threadIdx.x; i < words; i += blockDim.x) { to[i] = from[i]; }
    }
    __syncthreads();
    for (int r = static_cast<int>(threadIdx.x); r < b.ranks; r += static_cast<int>(blockDim.x)) {
        cuda::detail::signal_peer(b.of[r] + flag, value);
    }
}

/// Shows the record of a meeting to all ranks.
template <class Tag = void>
__global__ void show_kernel(const board b, std::uint32_t meeting, const std::uint32_t* record, std::size_t words)
{
    const board_layout& at = b.at;
    const std::size_t slot = (meeting % 2) * at.n + static_cast<std::size_t>(b.rank);
    write_to_all(b, at.slots + slot * board_layout::slot_words, record, words, at.arrivals + static_cast<std::size_t>(b.rank), meeting);
}

/// Tells all ranks why this one has failed, and ends the waits of their kernels.
template <class Tag = void>
__global__ void tell_kernel(const board b, const std::uint32_t* text)
{
    const board_layout& at = b.at;
    const auto rank = static_cast<std::size_t>(b.rank);
    write_to_all(b, at.texts + rank * board_layout::text_words, text, board_layout::text_words, at.failures + rank, 1);
    __syncthreads();
    for (int r = static_cast<int>(threadIdx.x); r < b.ranks; r += static_cast<int>(blockDim.x)) {
        cuda::detail::signal_peer(b.of[r] + at.abandoned, static_cast<std::uint32_t>(b.rank) + 1);
    }
}

/// Copies what this rank's board shows to the host: by rank the number of records and whether it has failed, the text of
/// the first that has, and, if all have come to the meeting, so many words of each one's record.
template <class Tag = void>
__global__ void look_kernel(const board b, std::uint32_t meeting, std::size_t words, std::uint32_t* to)
{
    const board_layout& at = b.at;
    const std::uint32_t* const own = b.of[b.rank];
    bool here = true;
    int failed = b.ranks;
    for (std::size_t r = threadIdx.x; r < at.n; r += blockDim.x) {
        const std::uint32_t shown = cuda::detail::read_signal(own + at.arrivals + r);
        const std::uint32_t has_failed = cuda::detail::read_signal(own + at.failures + r);
        here = here && static_cast<std::int32_t>(shown - meeting) >= 0;
        if (has_failed != 0 && failed == b.ranks) { failed = static_cast<int>(r); }
        to[r] = shown;
        to[at.n + r] = has_failed;
    }
    to += 2 * at.n;
    for (int r = 0; r < b.ranks; ++r) {
        if (__syncthreads_or(static_cast<int>(failed == r)) == 0) { continue; }
        const std::uint32_t* const text = own + at.texts + static_cast<std::size_t>(r) * board_layout::text_words;
        for (std::size_t i = threadIdx.x; i < board_layout::text_words; i += blockDim.x) { to[i] = text[i]; }
        break;
    }
    to += board_layout::text_words;
    if (__syncthreads_and(static_cast<int>(here)) == 0) { return; }
    for (std::size_t r = 0; r < at.n; ++r) {
        const std::uint32_t* const record = own + at.slots + ((meeting % 2) * at.n + r) * board_layout::slot_words;
        for (std::size_t i = threadIdx.x; i < words; i += blockDim.x) { to[r * words + i] = record[i]; }
    }
}

}  // namespace plait::detail
