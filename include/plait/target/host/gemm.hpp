// Matrix products on the host.
#pragma once

#include <cstddef>
#include <vector>
#include <type_traits>

namespace plait::host {
template <class T> struct matrix_view { T* data; std::ptrdiff_t row, column; };
struct gemm_scratch {};
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, std::type_identity_t<matrix_view<const T>> a, std::type_identity_t<matrix_view<const T>> b, matrix_view<T> c, gemm_scratch&)
{
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            A s = 0;
            for (std::size_t l = 0; l < k; ++l) s += static_cast<A>(a.data[(std::ptrdiff_t)i * a.row + (std::ptrdiff_t)l * a.column]) * static_cast<A>(b.data[(std::ptrdiff_t)l * b.row + (std::ptrdiff_t)j * b.column]);
            c.data[(std::ptrdiff_t)i * c.row + (std::ptrdiff_t)j * c.column] = static_cast<T>(s);
        }
}
}  // namespace plait::host
