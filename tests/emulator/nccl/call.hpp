// What a rank asks for on a stream: its part of a collective, or one end of a message.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace emulator::nccl {

enum class call_kind : std::uint8_t {
    all_reduce,
    reduce_scatter,
    all_gather,
    broadcast,
    reduce,
    all_to_all,
    gather,
    scatter,
    send,
    receive
};

/// How values are combined. Premultiplied sums have a factor, of host or device.
struct reduction {
    ncclRedOp_t op = ncclSum;
    std::uint64_t factor = 0;             ///< its bits, of the call's type
    const void* factor_memory = nullptr;  ///< of the device, read when the work runs

    /// Premultiplied sums are one operation, whatever their factors and their numbers in each rank.
    bool same_as(const reduction& other) const
    {
        return op == other.op || (op >= ncclNumOps && other.op >= ncclNumOps);
    }
};

struct call {
    call_kind kind = call_kind::all_reduce;
    const void* send = nullptr;
    void* receive = nullptr;
    std::size_t count = 0;
    ncclDataType_t type = ncclInt8;
    reduction how{};
    int root = -1;  ///< or the other rank of a message
    std::uint64_t sequence = 0;

    bool is_message() const { return kind == call_kind::send || kind == call_kind::receive; }
};

std::size_t size_of(ncclDataType_t t);
const char* name_of(call_kind k);
/// `ncclAllReduce (100 x f32, sum)`.
std::string describe(const call& c);

}  // namespace emulator::nccl
