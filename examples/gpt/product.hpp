// The one function through which all of the transformer's matrix products go.
#pragma once

#include <plait/target/host/gemm.hpp>

#include <cstddef>

namespace gpt {

using plait::host::matrix_view;

/// Working memory of products, kept by the caller so that it is allocated once.
using product_scratch = plait::host::gemm_scratch;

/// c = a b with a (m, k), b (k, n) and c (m, n), which overlaps neither. plait's own product sums in an order that does
/// not depend on m: a row of c has the same bits however many rows are computed with it.
template <class T>
void product(std::size_t m, std::size_t n, std::size_t k, matrix_view<const T> a, matrix_view<const T> b,
             matrix_view<T> c, product_scratch& scratch)
{
    plait::host::gemm<T>(m, n, k, a, b, c, scratch);
}

/// A dense matrix of `columns` numbers a row.
template <class T>
matrix_view<T> dense(T* data, std::size_t columns)
{
    return {data, static_cast<std::ptrdiff_t>(columns), 1};
}
template <class T>
matrix_view<const T> dense_input(const T* data, std::size_t columns)
{
    return {data, static_cast<std::ptrdiff_t>(columns), 1};
}

}  // namespace gpt
