#include "product.hpp"

#include "../numeric/small_float.hpp"

#include <cstring>
#include <vector>

namespace emulator::cublaslt {
namespace {

/// Rounded to the 10 bits of a TF32 fraction, as tensor cores take f32.
float to_tf32(float x)
{
    auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7f80'0000) != 0x7f80'0000) { bits += 0x1000; }
    return std::bit_cast<float>(bits & 0xffff'e000);
}

template <class V>
V load(std::uint32_t type, const std::uint8_t* at)
{
    const auto as = [&]<class T>(T value) {
        std::memcpy(&value, at, sizeof value);
        return value;
    };
    switch (type) {
    case CUDA_R_64F: return static_cast<V>(as(double{}));
    case CUDA_R_32F: return static_cast<V>(as(float{}));
    case CUDA_R_16F: return static_cast<V>(half_to_float(as(std::uint16_t{})));
    default: return static_cast<V>(bfloat_to_float(as(std::uint16_t{})));
    }
}

template <class V>
void store(std::uint32_t type, std::uint8_t* at, V value)
{
    const auto put = [&](auto v) { std::memcpy(at, &v, sizeof v); };
    switch (type) {
    case CUDA_R_64F: return put(static_cast<double>(value));
    case CUDA_R_32F: return put(static_cast<float>(value));
    case CUDA_R_16F: return put(float_to_half(static_cast<float>(value)));
    default: return put(float_to_bfloat(static_cast<float>(value)));
    }
}

/// Lines of a matrix that lie together: columns, or rows.
struct lines {
    std::uint64_t n, length;
    std::uint64_t pitch;  ///< bytes
    std::size_t size;     ///< of an element

    explicit lines(const matrix_layout& l)
        : n{l.order == CUBLASLT_ORDER_COL ? l.cols : l.rows},
          length{l.order == CUBLASLT_ORDER_COL ? l.rows : l.cols},
          pitch{static_cast<std::uint64_t>(l.ld) * size_of(l.type)},
          size{size_of(l.type)}
    {
    }
};

const std::uint8_t* batch_of(const matrix_layout& l, const void* base, int batch)
{
    return static_cast<const std::uint8_t*>(base) + batch * l.batch_offset * static_cast<std::int64_t>(size_of(l.type));
}

/// The matrix row by row; `transposed` swaps rows and columns. Empty when memory is not there.
template <class V>
std::vector<V> packed(operation& o, const matrix_layout& l, const void* base, int batch, bool transposed)
{
    const lines x(l);
    std::vector<V> result(x.n * x.length);
    const bool along_rows = (l.order == CUBLASLT_ORDER_ROW) != transposed;
    for (std::uint64_t j = 0; j < x.n; ++j) {
        const std::uint8_t* line = extension::read(o, batch_of(l, base, batch) + j * x.pitch, x.length * x.size, true);
        if (line == nullptr) { return {}; }
        for (std::uint64_t i = 0; i < x.length; ++i) {
            result[along_rows ? j * x.length + i : i * x.n + j] = load<V>(l.type, line + i * x.size);
        }
    }
    return result;
}

template <class V>
bool write(operation& o, const matrix_layout& l, void* base, int batch, const std::vector<V>& values)
{
    const lines x(l);
    std::vector<std::uint8_t> line(x.length * x.size);
    for (std::uint64_t j = 0; j < x.n; ++j) {
        for (std::uint64_t i = 0; i < x.length; ++i) {
            const V v = values[l.order == CUBLASLT_ORDER_ROW ? j * x.length + i : i * x.n + j];
            store(l.type, line.data() + i * x.size, v);
        }
        if (!extension::write(o, const_cast<std::uint8_t*>(batch_of(l, base, batch)) + j * x.pitch, line.data(),
                              line.size())) {
            return false;
        }
    }
    return true;
}

template <class V>
std::vector<V> product_of(const problem& p, const std::vector<V>& a, const std::vector<V>& b)
{
    const std::uint64_t m = p.m(), n = p.n(), k = p.k();
    std::vector<V> sums(m * n);
    for (std::uint64_t i = 0; i < m; ++i) {
        V* to = sums.data() + i * n;
        for (std::uint64_t l = 0; l < k; ++l) {
            const V factor = a[i * k + l];
            const V* row = b.data() + l * n;
            for (std::uint64_t j = 0; j < n; ++j) { to[j] += factor * row[j]; }
        }
    }
    return sums;
}

/// One value for each row of the result; empty when memory is not there.
template <class V>
std::vector<V> bias_of(operation& o, const problem& p, int batch)
{
    const auto type = p.how.bias_type < 0 ? p.d.type : static_cast<std::uint32_t>(p.how.bias_type);
    matrix_layout l{type, CUBLASLT_ORDER_COL, p.m(), 1, static_cast<std::int64_t>(p.m()), 1, p.how.bias_batch_stride};
    return packed<V>(o, l, p.how.bias, batch, false);
}

template <class V>
bool multiply_batch(operation& o, const problem& p, const operands& x, int batch)
{
    std::vector<V> sums(p.m() * p.n());
    // With alpha 0, A and B are not read; with beta 0, C is not.
    if (x.alpha != 0) {
        auto a = packed<V>(o, p.a, x.a, batch, p.how.transpose_a != CUBLAS_OP_N);
        auto b = packed<V>(o, p.b, x.b, batch, p.how.transpose_b != CUBLAS_OP_N);
        if (o.error != 0) { return false; }
        if constexpr (std::is_same_v<V, float>) {
            if (p.how.compute == CUBLAS_COMPUTE_32F_FAST_TF32) {
                for (float& v : a) { v = to_tf32(v); }
                for (float& v : b) { v = to_tf32(v); }
            }
        }
        sums = product_of(p, a, b);
    }
    const auto c = x.beta != 0 ? packed<V>(o, p.c, x.c, batch, false) : std::vector<V>{};
    const auto bias = p.how.epilogue == CUBLASLT_EPILOGUE_BIAS ? bias_of<V>(o, p, batch) : std::vector<V>{};
    if (o.error != 0) { return false; }
    for (std::uint64_t i = 0; i < p.m(); ++i) {
        for (std::uint64_t j = 0; j < p.n(); ++j) {
            V& v = sums[i * p.n() + j];
            v *= static_cast<V>(x.alpha);
            if (!c.empty()) { v += static_cast<V>(x.beta) * c[i * p.n() + j]; }
            if (!bias.empty()) { v += bias[i]; }
        }
    }
    return write(o, p.d, x.d, batch, sums);
}

}  // namespace

bool multiply(operation& o, const problem& p, const operands& x)
{
    for (int batch = 0; batch < p.d.batch; ++batch) {
        const bool fine = p.how.compute == CUBLAS_COMPUTE_64F ? multiply_batch<double>(o, p, x, batch)
                                                              : multiply_batch<float>(o, p, x, batch);
        if (!fine) { return false; }
    }
    return true;
}

}  // namespace emulator::cublaslt
