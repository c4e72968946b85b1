// The way of a tensor-core product's sums from registers to the epilogue.
#pragma once

#include <plait/target/cuda/product_epilogue.cuh>

#include <cuda_runtime.h>

#include <cstdint>

namespace plait::cuda {

/// A warp's part of 16 rows of the result in shared memory, where each lane then finds neighbours. The pitch puts what lanes
/// store at once into different banks.
struct warp_sums {
    static constexpr int rows = 16;
    static constexpr int columns = 32;
    float element[rows][columns + 8];

    /// Takes the sums of the 16 x 8 elements from column 8 `j` on, of which each lane has four as mma.sync and wgmma leave them:
    /// two neighbours in row lane / 4 and two eight rows below.
    __device__ void take(int lane, int j, float x0, float x1, float x2, float x3)
    {
        float* const to = &element[lane / 4][8 * j + lane % 4 * 2];
        *reinterpret_cast<float2*>(to) = {x0, x1};
        *reinterpret_cast<float2*>(to + 8 * (columns + 8)) = {x2, x3};
    }
    /// Gives all elements to the epilogue, `Group` neighbours at once; the part begins at (`row`, `column`) of the result.
    template <int Group, class Epilogue>
    __device__ void give(int lane, const Epilogue& epilogue, const product_arguments& p, std::int64_t batch, std::int64_t row,
                         std::int64_t column) const
    {
        constexpr int in_a_row = columns / Group;
#pragma unroll (Epilogue::is_short ? 4 : 1)
        for (int g = lane; g < rows * in_a_row; g += warp_size) {
            const int r = g / in_a_row;
            const int c = g % in_a_row * Group;
            float x[Group];
#pragma unroll
            for (int e = 0; e < Group; e += 4) {
                const float4 four = *reinterpret_cast<const float4*>(&element[r][c + e]);
                x[e] = four.x;
                x[e + 1] = four.y;
                x[e + 2] = four.z;
                x[e + 3] = four.w;
            }
            put_neighbours(epilogue, p, batch, row + r, column + c, x);
        }
    }
};

}  // namespace plait::cuda
