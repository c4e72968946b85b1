// The one function through which all of the transformer's matrix products go.
#pragma once

#include "../support/matrix.hpp"

#include <cstddef>
#include <vector>

namespace gpt {

/// A matrix in memory of someone else: element (i, j) is data[i * row + j * column].
template <class T>
struct matrix_view {
    T* data;
    std::size_t row;
    std::size_t column = 1;

    matrix_view transposed() const { return {data, column, row}; }
};

/// Working memory of products, kept by the caller so that it is allocated once.
template <class T>
using product_scratch = std::vector<T>;

/// c = a b with a (m, k), b (k, n) and c (m, n), which overlaps neither. Sums are taken in an order that does not
/// depend on m: a row of c has the same bits however many rows are computed with it.
template <class T>
void product(std::size_t m, std::size_t n, std::size_t k, matrix_view<const T> a, matrix_view<const T> b,
             matrix_view<T> c, product_scratch<T>& scratch)
{
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) { c.data[i * c.row + j * c.column] = T{}; }
    }
    if (m == 0 || k == 0) { return; }
    demo::add_product<T>({a.data, m, k, a.row, a.column}, {b.data, k, n, b.row, b.column},
                         demo::matrix<T>{c.data, m, n, c.row, c.column}, scratch);
}

/// A dense matrix of `columns` numbers a row.
template <class T>
matrix_view<T> dense(T* data, std::size_t columns)
{
    return {data, columns, 1};
}
template <class T>
matrix_view<const T> dense_input(const T* data, std::size_t columns)
{
    return {data, columns, 1};
}

}  // namespace gpt
