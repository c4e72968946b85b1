// A matrix in someone else's memory: a pointer and two strides.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace plait::host {

/// A matrix in memory: element (i, j) lies at data[i * row + j * column]. Strides count elements and are positive (one
/// that is never used, of a single row or column, may be anything): a row-major matrix has column 1, a transposed one
/// row 1. The number of rows and columns is said where the view is used.
template <class T>
struct matrix_view {
    T* data;
    std::ptrdiff_t row;
    std::ptrdiff_t column;

    /// Element (i, j).
    [[nodiscard]] T& at(std::size_t i, std::size_t j) const { return *from(i, j).data; }

    /// The part of the matrix that begins at element (i, j).
    [[nodiscard]] matrix_view from(std::size_t i, std::size_t j) const
    {
        return {data + static_cast<std::ptrdiff_t>(i) * row + static_cast<std::ptrdiff_t>(j) * column, row, column};
    }

    /// The same memory with rows and columns exchanged.
    [[nodiscard]] matrix_view transposed() const { return {data, column, row}; }

    /// What can be written can also be read.
    template <std::same_as<const T> Const>
        requires(!std::is_const_v<T>)
    operator matrix_view<Const>() const  // NOLINT(google-explicit-constructor)
    {
        return {data, row, column};
    }
};

/// The rows of several matrices one above the other, or of one: `count` rows each (1 or more), whose first elements lie
/// `step` apart.
template <class T>
struct row_groups {
    matrix_view<T> first;
    std::size_t count;
    std::ptrdiff_t step;

    /// The part of the matrix that begins at element (i, j), as far as rows go together.
    [[nodiscard]] matrix_view<T> from(std::size_t i, std::size_t j) const
    {
        matrix_view<T> part = first.from(i % count, j);
        part.data += static_cast<std::ptrdiff_t>(i / count) * step;
        return part;
    }
    /// How many rows go together from row i on.
    [[nodiscard]] std::size_t left(std::size_t i) const { return count - i % count; }
};

}  // namespace plait::host
