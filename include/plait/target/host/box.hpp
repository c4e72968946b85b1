// Boxes of values in memory as the matrices that contractions read and write.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/slice.hpp>
#include <plait/graph/node.hpp>
#include <plait/target/host/gemm.hpp>
#include <plait/target/host/pass_context.hpp>
#include <plait/target/host/space.hpp>
#include <plait/target/host/strided.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plait::host {

/// Copies a box of the pass's first result to its other results.
inline void copy_results(const pass_context& c, const node& n, const box& b)
{
    const auto size = static_cast<std::int64_t>(size_of(n.type));
    const strided from = in_slot(c.args, n, c.result(0).slot, b);
    const std::int64_t length = b.count[n.dims - 1] * size;
    for (int r = 1; r < c.n_results() && length > 0; ++r) {
        const strided to = in_slot(c.args, n, c.result(r).slot, b);
        for_each_index(n.dims - 1, b.count, [&](const std::int64_t* at) {
            std::memcpy(to.data + to.offset(at, n.dims - 1) * size, from.data + from.offset(at, n.dims - 1) * size,
                        static_cast<std::size_t>(length));
        });
    }
}

/// A matrix of rows x columns elements. A stride of 0, of an extent 1, becomes what a matrix of one row or column has.
template <class T>
matrix_view<T> matrix(T* data, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns)
{
    if (column == 0) { column = row == 1 ? rows : 1; }
    if (row == 0) { row = column == 1 ? columns : 1; }
    return {data, row, column};
}

/// The elements of a box, converted to T where the dtype of the operand is another. `room` is for those.
template <class T>
matrix_view<const T> as_matrix(const node& n, const strided& v, int row, int column, const box& b,
                               gemm_scratch& room)
{
    if (n.type == dtype_of<T>) {
        return matrix(reinterpret_cast<const T*>(v.data), v.stride[row], v.stride[column], b.count[row],
                      b.count[column]);
    }
    const auto get = [&](const auto& from, std::int64_t i, std::int64_t j) {
        return static_cast<float>(from[i * v.stride[row] + j * v.stride[column]]);
    };
    room.reserve(static_cast<std::size_t>(b.count[row] * b.count[column]) * sizeof(T));
    T* const converted = reinterpret_cast<T*>(room.data());
    const auto fill = [&](const auto* from) {
        for (std::int64_t i = 0; i < b.count[row]; ++i) {
            for (std::int64_t j = 0; j < b.count[column]; ++j) {
                converted[i * b.count[column] + j] = static_cast<T>(get(from, i, j));
            }
        }
    };
    switch (n.type) {
    case dtype::f16: fill(reinterpret_cast<const f16*>(v.data)); break;
    case dtype::bf16: fill(reinterpret_cast<const bf16*>(v.data)); break;
    default: fill(reinterpret_cast<const float*>(v.data)); break;  // f64 has no wider partner
    }
    return {converted, b.count[column], 1};
}

}  // namespace plait::host
