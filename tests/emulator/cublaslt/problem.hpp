// A product as it was asked for: D = alpha * op(A) * op(B) + beta * C + bias.
#pragma once

#include "descriptors.hpp"

#include <cstddef>

namespace emulator::cublaslt {

struct problem {
    matmul_description how;
    matrix_layout a, b, c, d;

    std::uint64_t m() const { return d.rows; }
    std::uint64_t n() const { return d.cols; }
    std::uint64_t k() const { return how.transpose_a == CUBLAS_OP_N ? a.cols : a.rows; }
};

std::size_t size_of(std::uint32_t type);
/// Whether shapes, strides and types fit together. Ends the program for what the stand-in lacks.
cublasStatus_t check(const problem& p);

}  // namespace emulator::cublaslt
