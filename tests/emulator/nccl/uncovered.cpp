// Entry points of NCCL 2.28 that are not implemented: calling one ends the program with its name.
#include "../extension/extension.hpp"

extern "C" {
#define X(name) \
    void name() { emulator::extension::stop(#name " is not implemented"); }
X(ncclCommInitRankScalable)
X(ncclCommRevoke)
X(ncclCommShrink)
X(ncclGinBarrierCreateRequirement)
X(ncclGroupSimulateEnd)
X(ncclResetDebugInit)
#undef X
}
