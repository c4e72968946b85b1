// Arrays of float64 and the operations of the oracle that are loops of their own: products and convolutions.
#pragma once

#include <plait/core/slice.hpp>
#include <plait/graph/op.hpp>

#include <cstdint>
#include <vector>

namespace reference {

using numbers = std::vector<double>;
using shape = std::vector<std::int64_t>;

inline std::int64_t size_of(const shape& s)
{
    std::int64_t n = 1;
    for (std::int64_t e : s) { n *= e; }
    return n;
}

/// The coordinates of element i of an array.
inline shape coordinates(std::int64_t i, const shape& extents)
{
    shape at(extents.size());
    for (std::size_t d = extents.size(); d-- > 0;) {
        at[d] = i % extents[d];
        i /= extents[d];
    }
    return at;
}

struct array {
    const numbers& elements;
    const shape& extents;
};

/// Element (row, column) of the matrix of `a` that belongs to element `at` of a product: leading dimensions broadcast.
inline double matrix_element(const array& a, const shape& at, std::int64_t row, std::int64_t column)
{
    std::int64_t offset = 0;
    for (std::size_t d = 0; d + 2 < a.extents.size(); ++d) {
        const std::size_t here = d + at.size() - a.extents.size();
        offset = offset * a.extents[d] + (a.extents[d] == 1 ? 0 : at[here]);
    }
    offset = (offset * a.extents[a.extents.size() - 2] + row) * a.extents.back() + column;
    return a.elements[static_cast<std::size_t>(offset)];
}

/// [..., M, K] x [..., K, N], either transposed by attrs.a, attrs.b; over the part of K that is given.
inline numbers matrix_product(const plait::attributes& attrs, const array& a, const array& b, const shape& extents,
                              plait::slice_range k)
{
    numbers out(static_cast<std::size_t>(size_of(extents)));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const shape at = coordinates(static_cast<std::int64_t>(i), extents);
        const std::int64_t row = at[at.size() - 2];
        const std::int64_t column = at[at.size() - 1];
        for (std::int64_t j = k.begin; j < k.begin + k.count; ++j) {
            const double x = attrs.a != 0 ? matrix_element(a, at, j, row) : matrix_element(a, at, row, j);
            const double y = attrs.b != 0 ? matrix_element(b, at, column, j) : matrix_element(b, at, j, column);
            out[i] += x * y;
        }
    }
    return out;
}

/// x[N, C, H, W] * w[K, C, R, S], stride attrs.a, zero padding attrs.b.
inline numbers convolution(const plait::attributes& attrs, const array& x, const array& w, const shape& extents)
{
    numbers out(static_cast<std::size_t>(size_of(extents)));
    const auto at4 = [](const array& a, std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
        return a.elements[static_cast<std::size_t>(((i * a.extents[1] + j) * a.extents[2] + k) * a.extents[3] + l)];
    };
    for (std::size_t i = 0; i < out.size(); ++i) {
        const shape at = coordinates(static_cast<std::int64_t>(i), extents);
        for (std::int64_t c = 0; c < w.extents[1]; ++c) {
            for (std::int64_t r = 0; r < w.extents[2]; ++r) {
                for (std::int64_t s = 0; s < w.extents[3]; ++s) {
                    const std::int64_t h = at[2] * attrs.a + r - attrs.b;
                    const std::int64_t v = at[3] * attrs.a + s - attrs.b;
                    const bool inside = h >= 0 && h < x.extents[2] && v >= 0 && v < x.extents[3];
                    if (inside) { out[i] += at4(x, at[0], c, h, v) * at4(w, at[1], c, r, s); }
                }
            }
        }
    }
    return out;
}

}  // namespace reference
