// The product itself, computed on the host.
#pragma once

#include "../extension/extension.hpp"
#include "problem.hpp"

namespace emulator::cublaslt {

struct operands {
    const void* a = nullptr;
    const void* b = nullptr;
    const void* c = nullptr;
    void* d = nullptr;
    double alpha = 1, beta = 0;
};

/// Does all batches; false when memory is not there, which was reported.
bool multiply(operation& o, const problem& p, const operands& x);

}  // namespace emulator::cublaslt
