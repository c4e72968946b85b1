// Entry points of what runs on streams.
#include "error.hpp"
#include "group.hpp"

#include <cstring>

using namespace emulator::nccl;
using emulator::extension::lock;

namespace {

/// What is wrong with the call, or null.
const char* fault_of(const ncclComm& c, const call& asked)
{
    if (asked.type < 0 || asked.type >= ncclNumTypes) { return "no such type"; }
    const bool known = asked.how.op >= 0 && (asked.how.op < ncclNumOps || c.reductions.count(asked.how.op) != 0);
    if (!known) { return "no such reduction"; }
    if (asked.root < -1 || asked.root >= c.ranks) { return "no such rank"; }
    if (asked.count == 0) { return nullptr; }
    const bool is_root = asked.root < 0 || asked.root == c.rank;
    const bool sends = asked.kind == call_kind::send                                            ? true
                       : asked.kind == call_kind::receive                                       ? false
                       : asked.kind == call_kind::broadcast || asked.kind == call_kind::scatter ? is_root
                                                                                                : true;
    const bool receives = asked.kind == call_kind::send                                        ? false
                          : asked.kind == call_kind::receive                                   ? true
                          : asked.kind == call_kind::reduce || asked.kind == call_kind::gather ? is_root
                                                                                               : true;
    if ((sends && asked.send == nullptr) || (receives && asked.receive == nullptr)) { return "a buffer is null"; }
    return nullptr;
}

ncclResult_t ask(call asked, ncclComm_t comm, cudaStream_t stream)
{
    const lock hold;
    ncclResult_t why = ncclSuccess;
    const auto c = find_usable(comm, name_of(asked.kind), why);
    if (!c) { return refuse(why); }
    if (const char* fault = fault_of(*c, asked)) {
        return refuse(set_error(ncclInvalidArgument, std::string(name_of(asked.kind)) + ": " + fault));
    }
    if (asked.how.op >= ncclNumOps) { asked.how = c->reductions.at(asked.how.op); }
    if (asked.count == 0 && !asked.is_message()) { return ncclSuccess; }
    return take(c, asked, stream);
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    return ask({call_kind::all_reduce, send, receive, count, type, {op}}, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream)
{
    return ask({call_kind::reduce_scatter, send, receive, count, type, {op}}, comm, stream);
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream)
{
    return ask({call_kind::all_gather, send, receive, count, type}, comm, stream);
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    return ask({call_kind::broadcast, send, receive, count, type, {}, root}, comm, stream);
}

ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    return ask({call_kind::reduce, send, receive, count, type, {op}, root}, comm, stream);
}

ncclResult_t ncclAlltoAll(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream)
{
    return ask({call_kind::all_to_all, send, receive, count, type}, comm, stream);
}

ncclResult_t ncclGather(const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream)
{
    return ask({call_kind::gather, send, receive, count, type, {}, root}, comm, stream);
}

ncclResult_t ncclScatter(const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream)
{
    return ask({call_kind::scatter, send, receive, count, type, {}, root}, comm, stream);
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    if (peer < 0) { return refuse(set_error(ncclInvalidArgument, "ncclSend: no such rank")); }
    return ask({call_kind::send, send, nullptr, count, type, {}, peer}, comm, stream);
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    if (peer < 0) { return refuse(set_error(ncclInvalidArgument, "ncclRecv: no such rank")); }
    return ask({call_kind::receive, nullptr, receive, count, type, {}, peer}, comm, stream);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* factor, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm)
{
    const lock hold;
    const auto c = find(comm);
    if (!c || op == nullptr || factor == nullptr || type < 0 || type >= ncclNumTypes) {
        return refuse(set_error(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: a wrong argument"));
    }
    reduction made;
    int number = ncclNumOps;
    while (c->reductions.count(number) != 0) { ++number; }
    made.op = static_cast<ncclRedOp_t>(number);
    if (residence == ncclScalarDevice) {
        made.factor_memory = factor;
    } else {
        std::memcpy(&made.factor, factor, size_of(type));
    }
    c->reductions[number] = made;
    *op = made.op;
    return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    const lock hold;
    const auto c = find(comm);
    if (!c || c->reductions.erase(op) == 0) {
        return refuse(set_error(ncclInvalidArgument, "ncclRedOpDestroy: no such reduction"));
    }
    return ncclSuccess;
}
}
