// Error codes: kept until they are read, and, when a kernel's fault lost the device's context, for good.
#include "state.hpp"

#include <map>

using namespace emulator;

namespace {

const std::map<cudaError_t, const char*>& names()
{
    static const std::map<cudaError_t, const char*> table = {
#define X(name) {name, #name},
#include "error_names.inc"
#undef X
    };
    return table;
}

/// The text of the common ones, as the real runtime words it.
const char* text_of(cudaError_t e)
{
    switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidDeviceFunction: return "invalid device function";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorMisalignedAddress: return "misaligned address";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorLaunchTimeout: return "the launch timed out and was terminated";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorAssert: return "device-side assert triggered";
    case cudaErrorCooperativeLaunchTooLarge: return "too many blocks in cooperative launch";
    case cudaErrorPeerAccessAlreadyEnabled: return "peer access is already enabled";
    case cudaErrorPeerAccessNotEnabled: return "peer access has not been enabled";
    default: {
        const auto at = names().find(e);
        return at != names().end() ? at->second : "unrecognized error code";
    }
    }
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError()
{
    const entry lock;
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    const cudaError_t e = this_host_thread().last;
    this_host_thread().last = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError()
{
    const entry lock;
    if (const cudaError_t e = sticky_error(); e != cudaSuccess) { return e; }
    return this_host_thread().last;
}

const char* cudaGetErrorName(cudaError_t e)
{
    const auto at = names().find(e);
    return at != names().end() ? at->second : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t e) { return text_of(e); }
}
