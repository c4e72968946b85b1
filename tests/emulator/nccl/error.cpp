#include "error.hpp"

namespace {

thread_local std::string last_error;

}  // namespace

namespace emulator::nccl {

ncclResult_t set_error(ncclResult_t result, const std::string& text)
{
    last_error = text;
    return result;
}

}  // namespace emulator::nccl

extern "C" {

const char* ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
    }
}

const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }

ncclResult_t ncclGetVersion(int* version)
{
    if (version == nullptr) { return ncclInvalidArgument; }
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
}
