// The pieces of a model-parallel block as one writes them without plait: product, epilogue, the sum of two ranks. Of plait
// only random words and erf, so that both sides drop the same elements, and its own product where OpenBLAS is missing.
#pragma once

#include <plait/core/philox.hpp>
#include <plait/core/vector_math.hpp>
#include <plait/target/host/gemm.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

inline constexpr float drop = 0.1F;
inline constexpr std::int64_t drop_seed = 1234;

/// The extents of a block; of K, each of two ranks has a half.
struct block_shape {
    std::size_t b, s, h, k;

    [[nodiscard]] std::size_t rows() const { return b * s; }
    [[nodiscard]] std::size_t elements() const { return rows() * h; }
    [[nodiscard]] std::size_t half() const { return k / 2; }
};

/// Numbers between -scale and scale, others for each `which`.
inline std::vector<float> numbers(std::size_t n, std::size_t which, float scale)
{
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = scale * 0.01F * static_cast<float>(static_cast<int>((i * 7919 + i / 201 + which * 31) % 201) - 100);
    }
    return x;
}

/// c = a b of row-major m x k and k x n, by one or the other.
using product_function = void (*)(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c);

/// As plait computes it: by OpenBLAS, or by its own product where that is the faster one.
inline void product_of_plait(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c)
{
    static thread_local plait::host::gemm_scratch scratch;
    const auto step = static_cast<std::ptrdiff_t>(n);
    plait::host::gemm<float, float>(m, n, k, {a, static_cast<std::ptrdiff_t>(k), 1}, {b, step, 1}, {c, step, 1}, scratch);
}

/// By OpenBLAS itself.
inline void product(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c)
{
#if PLAIT_HAS_OPENBLAS
    plait::host::detail::blas_on_one_thread();
    const auto size = [](std::size_t s) { return static_cast<int>(s); };
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(k), b, size(n), 0, c,
                size(n));
#else
    product_of_plait(m, n, k, a, b, c);
#endif
}
inline const char* product_name() { return PLAIT_HAS_OPENBLAS ? "OpenBLAS" : "plait's own product (no OpenBLAS found)"; }

/// The same in as many pieces as a pipeline of `chunks` chunks cuts it into: the rows of each of the b matrices.
inline void product_in_chunks(const block_shape& s, const float* a, const float* b, float* c, std::size_t chunks)
{
    for (std::size_t i = 0; i < chunks; ++i) {
        const std::size_t from = s.s * i / chunks, to = s.s * (i + 1) / chunks;
        for (std::size_t batch = 0; batch < s.b; ++batch) {
            const std::size_t row = batch * s.s + from;
            product_of_plait(to - from, s.h, s.half(), a + row * s.half(), b, c + row * s.h);
        }
    }
}

/// y = residual + dropout(x + bias) of `rows` rows that begin with row `first`, in one pass.
inline void epilogue(const float* __restrict x, const float* __restrict bias, const float* __restrict residual,
                     float* __restrict y, std::size_t first, std::size_t rows, std::size_t width)
{
    constexpr std::size_t piece = 512;
    alignas(64) std::uint32_t words[piece];
    const auto threshold = static_cast<std::uint32_t>(plait::keep_threshold(static_cast<double>(drop)));
    const float scale = 1 / (1 - drop);
    for (std::size_t row = first; row < first + rows; ++row) {
        for (std::size_t at = 0; at < width; at += piece) {
            const std::size_t n = std::min(piece, width - at);
            const std::size_t begin = row * width + at;
            plait::philox_fill(static_cast<std::uint64_t>(drop_seed), begin, n, words);
            for (std::size_t i = 0; i < n; ++i) {
                const float v = (x[begin + i] + bias[at + i]) * scale;
                y[begin + i] = residual[begin + i] + (words[i] >= threshold ? v : 0.0F);
            }
        }
    }
}

/// x = gelu(x + bias), in one pass.
inline void bias_gelu(float* __restrict x, const float* __restrict bias, std::size_t rows, std::size_t width)
{
    for (std::size_t row = 0; row < rows; ++row) {
        float* __restrict line = x + row * width;
        for (std::size_t i = 0; i < width; ++i) {
            const float v = line[i] + bias[i];
            line[i] = v * 0.5F * (1 + plait::math::erf(v * 0.70710678F));
        }
    }
}

/// mine = theirs = a + b
inline void sum_to_both(const float* __restrict a, const float* __restrict b, float* __restrict mine,
                        float* __restrict theirs, std::size_t n)
{
    for (std::size_t i = 0; i < n; ++i) {
        const float sum = a[i] + b[i];
        mine[i] = sum;
        theirs[i] = sum;
    }
}
/// What the fused pass reads and writes, with next to no arithmetic.
inline void bare_fused_pass(const float* __restrict a, const float* __restrict b, const float* __restrict residual,
                            float* __restrict mine, float* __restrict theirs, std::size_t n)
{
    for (std::size_t i = 0; i < n; ++i) {
        const float sum = a[i] + b[i] + residual[i];
        mine[i] = sum;
        theirs[i] = sum;
    }
}

/// Refuses to time what gives another result: 1e-5, relative to the largest magnitude.
inline void must_equal(const std::string& what, std::span<const float> a, std::span<const float> b)
{
    float scale = 1;
    for (float x : b) { scale = std::max(scale, std::fabs(x)); }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!(std::fabs(a[i] - b[i]) <= 1e-5F * scale)) {
            throw std::runtime_error(what + " gives another result, element " + std::to_string(i) + ": " +
                                     std::to_string(a[i]) + ", not " + std::to_string(b[i]));
        }
    }
}

}  // namespace bench
