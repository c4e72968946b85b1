// Entry points of cuBLASLt 13 that are not implemented: calling one ends the program with its name.
#include "../extension/extension.hpp"

extern "C" {
#define X(name) \
    void name() { emulator::extension::stop(#name " is not implemented"); }
X(cublasLtDisableCpuInstructionsSetMask)
X(cublasLtEmulationDescCreate)
X(cublasLtEmulationDescDestroy)
X(cublasLtEmulationDescGetAttribute)
X(cublasLtEmulationDescInit_internal)
X(cublasLtEmulationDescSetAttribute)
X(cublasLtGetProperty)
X(cublasLtHeuristicsCacheGetCapacity)
X(cublasLtHeuristicsCacheSetCapacity)
X(cublasLtLoggerForceDisable)
X(cublasLtLoggerOpenFile)
X(cublasLtLoggerSetCallback)
X(cublasLtLoggerSetFile)
X(cublasLtLoggerSetLevel)
X(cublasLtLoggerSetMask)
X(cublasLtMatmulAlgoCapGetAttribute)
X(cublasLtMatmulAlgoCheck)
X(cublasLtMatmulAlgoConfigGetAttribute)
X(cublasLtMatmulAlgoConfigSetAttribute)
X(cublasLtMatmulAlgoGetIds)
X(cublasLtMatmulAlgoInit)
X(cublasLtMatmulDescInit_internal)
X(cublasLtMatmulPreferenceInit_internal)
X(cublasLtMatrixLayoutInit_internal)
X(cublasLtMatrixTransform)
X(cublasLtMatrixTransformDescCreate)
X(cublasLtMatrixTransformDescDestroy)
X(cublasLtMatrixTransformDescGetAttribute)
X(cublasLtMatrixTransformDescInit_internal)
X(cublasLtMatrixTransformDescSetAttribute)
#undef X
}
