// How the blocks of a product's kernel go over the tiles of its result: of one product, or of all chunks of a pipeline.
#pragma once

#include <plait/target/cuda/product_arguments.cuh>
#include <plait/target/cuda/signals.cuh>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plait::cuda {

/// Where a tile of the result begins.
struct product_place {
    std::int64_t row;
    std::int64_t column;
    std::int64_t batch;
};
/// Tiles of `Rows` x `Columns` elements, numbered along the rows of c, batch by batch.
template <int Rows, int Columns>
__host__ __device__ std::int64_t tiles_of(const product_arguments& p)
{
    return (p.m + Rows - 1) / Rows * ((p.n + Columns - 1) / Columns) * p.batches;
}
template <int Rows, int Columns>
__device__ product_place place_of_tile(const product_arguments& p, std::int64_t tile)
{
    const std::int64_t rows = (p.m + Rows - 1) / Rows;
    const std::int64_t columns = (p.n + Columns - 1) / Columns;
    return {tile / columns % rows * Rows, tile % columns * Columns, tile / (rows * columns)};
}

/// A launch that is one product.
struct whole_product {
    product_arguments product;

    /// Calls use(product, place) for each tile of the block. All threads of a block call it.
    template <int Rows, int Columns, class Use>
    __device__ void for_each_tile(Use&& use) const
    {
        const std::int64_t tiles = tiles_of<Rows, Columns>(product);
        for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            use(product, place_of_tile<Rows, Columns>(product, tile));
            __syncthreads();  // shared memory is free again
        }
    }
};

/// What a product computes of one chunk of a pipeline, or of one range of it.
struct product_part {
    product_arguments product;
    std::int64_t first_tile = 0;
    int chunk = 0;
    std::uint32_t tiles = 0;  // of all parts of the chunk
};
/// A launch that computes all chunks, in the order in which they are taken, and tells of each one. It waits for nobody.
struct product_in_chunks {
    const product_part* parts = nullptr;
    int n_parts = 0;
    std::int64_t tiles = 0;
    chunk_signals signals;

    template <int Rows, int Columns, class Use>
    __device__ void for_each_tile(Use&& use) const
    {
        __shared__ product_part part;
        for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const auto* from = reinterpret_cast<const std::uint32_t*>(parts + find(tile));
            auto* to = reinterpret_cast<std::uint32_t*>(&part);
            for (unsigned i = threadIdx.x; i < sizeof(product_part) / 4; i += block_threads) { to[i] = from[i]; }
            __syncthreads();
            const bool is_empty = part.product.m == 0 || part.product.n == 0 || part.product.batches == 0;
            if (!is_empty) { use(part.product, place_of_tile<Rows, Columns>(part.product, tile - part.first_tile)); }
            signals.tile_is_done(part.chunk, part.tiles);
            __syncthreads();
        }
    }

  private:
    /// The last part that begins at or before a tile.
    __device__ int find(std::int64_t tile) const
    {
        int low = 0;
        int high = n_parts - 1;
        while (low < high) {
            const int middle = (low + high + 1) / 2;
            if (parts[middle].first_tile <= tile) { low = middle; }
            else { high = middle - 1; }
        }
        return low;
    }
};

/// The chunks of such a launch: the ranges that each consists of, and who is told.
struct product_chunks {
    std::vector<std::vector<host::chunk>> ranges;
    chunk_signals signals;
};

/// What a product's kernel is told: which tiles, and what becomes of them.
template <class Tiles, class Epilogue>
struct product_launch {
    Tiles tiles;
    typename Epilogue::arguments pass;
};

}  // namespace plait::cuda
