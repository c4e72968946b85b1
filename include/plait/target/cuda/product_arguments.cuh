// What a kernel of a matrix product is told.
#pragma once

#include <plait/target/cuda/outputs.cuh>

#include <cstddef>
#include <cstdint>

namespace plait::cuda {

/// One operand of a product as a matrix per batch: element (i, j) of batch b.
struct matrix_operand {
    const std::byte* data = nullptr;
    std::int64_t row = 0;
    std::int64_t column = 0;
    std::int64_t batch[max_dims]{};
};
/// The windows of an image as a matrix: channel, row and column of the window by position of the result.
struct window_operand {
    int height = 0;
    int width = 0;
    int window_height = 0;
    int window_width = 0;
    int out_width = 1;
    int stride = 1;
    int padding = 0;
};

struct product_arguments {
    matrix_operand a;
    matrix_operand b;
    matrix_operand c;
    std::byte* out = nullptr;
    std::int64_t first = 0;  // where the result begins in its slot, in elements
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t batches = 1;
    std::int64_t batch_count[max_dims]{};
    int batch_dims = 0;
    window_operand window;
    bool a_vectors = false;  // whether 16 bytes of an operand may be loaded at once
    bool b_vectors = false;
    bool out_vectors = false;  // whether groups of the result's elements may be stored at once, and what goes with them loaded
};

/// Where a batch begins in the operands and in the result, in elements.
struct batch_offsets {
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t c = 0;
};
__device__ inline batch_offsets offsets_of_batch(const product_arguments& p, std::int64_t batch)
{
    batch_offsets o;
    for (int d = p.batch_dims - 1; d >= 0; --d) {
        const std::int64_t at = batch % p.batch_count[d];
        batch /= p.batch_count[d];
        o.a += at * p.a.batch[d];
        o.b += at * p.b.batch[d];
        o.c += at * p.c.batch[d];
    }
    return o;
}

}  // namespace plait::cuda
