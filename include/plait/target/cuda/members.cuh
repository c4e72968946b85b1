// Members by number: lists of values of different types that optimisers split into registers.
#pragma once

#include <cuda_runtime.h>

#include <utility>

namespace plait::cuda {

/// One of several members, by number: what optimisers split into registers, and parameters into constants.
template <int I, class T>
struct numbered {
    T value;
};
struct nothing {};
template <int I>
struct numbered<I, nothing> {};
template <int I, class T>
__host__ __device__ T& get(numbered<I, T>& n)
{
    return n.value;
}
template <int I, class T>
__host__ __device__ const T& get(const numbered<I, T>& n)
{
    return n.value;
}
template <class Indices, class... T>
struct numbered_list;
template <int... I, class... T>
struct numbered_list<std::integer_sequence<int, I...>, T...> : numbered<I, T>... {};
template <class... T>
using members = numbered_list<std::make_integer_sequence<int, static_cast<int>(sizeof...(T))>, T...>;

/// A value's elements in a group.
template <class T, int N>
struct group_of {
    T v[N];
};

}  // namespace plait::cuda
