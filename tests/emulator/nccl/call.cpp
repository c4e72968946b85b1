#include "call.hpp"

namespace emulator::nccl {

std::size_t size_of(ncclDataType_t t)
{
    switch (t) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    default: return 8;
    }
}

const char* name_of(call_kind k)
{
    constexpr const char* names[] = {"ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast",
                                     "ncclReduce",    "ncclAlltoAll",      "ncclGather",    "ncclScatter",
                                     "ncclSend",      "ncclRecv"};
    return names[static_cast<unsigned>(k)];
}

std::string describe(const call& c)
{
    constexpr const char* types[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                     "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
    constexpr const char* operations[] = {"sum", "product", "maximum", "minimum", "average"};
    std::string text = std::string(name_of(c.kind)) + " (" + std::to_string(c.count) + " x " + types[c.type];
    if (c.kind == call_kind::all_reduce || c.kind == call_kind::reduce_scatter || c.kind == call_kind::reduce) {
        text += std::string(", ") + (c.how.op < ncclNumOps ? operations[c.how.op] : "premultiplied sum");
    }
    if (c.root >= 0) {
        text += (c.kind == call_kind::send      ? ", to "
                 : c.kind == call_kind::receive ? ", from "
                                                : ", root ") +
                std::to_string(c.root);
    }
    return text + ")";
}

}  // namespace emulator::nccl
