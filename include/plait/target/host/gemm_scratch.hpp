// The memory that a matrix product works in, and the types it can multiply.
#pragma once

#include <plait/core/bf16.hpp>
#include <plait/core/f16.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace plait::host {

/// Types that a matrix product takes.
template <class T>
concept gemm_element =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, f16> || std::same_as<T, bf16>;

/// The type that products of T are summed in: float for the low-precision types.
template <gemm_element T>
using gemm_sum_t = std::conditional_t<std::same_as<T, double>, double, float>;

/// Types that a product of matrices of T can be stored as: T, or the type it is summed in.
template <class Out, class T>
concept gemm_result = gemm_element<T> && (std::same_as<Out, T> || std::same_as<Out, gemm_sum_t<T>>);

/// Memory that matrix products work in. It grows when a product needs more, and can be used for one after the other;
/// two threads need one each.
class gemm_scratch {
  public:
    gemm_scratch() = default;

    /// Makes it at least `bytes` large; what was in it is lost if it grows.
    void reserve(std::size_t bytes)
    {
        if (bytes <= this->bytes()) { return; }
        memory_.reset();  // before the new one is there, so that both never are
        memory_ = {static_cast<std::byte*>(::operator new(bytes, alignment)), release{bytes}};
    }

    /// Its size. A scratch that was moved from has none.
    [[nodiscard]] std::size_t bytes() const { return memory_ ? memory_.get_deleter().bytes : 0; }

    /// Its start, aligned to a cache line.
    [[nodiscard]] std::byte* data() const { return memory_.get(); }

  private:
    static constexpr std::align_val_t alignment{64};
    struct release {
        std::size_t bytes;
        void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
    };
    std::unique_ptr<std::byte, release> memory_;
};

namespace detail {

/// Rounds up to a multiple.
constexpr std::size_t gemm_round_up(std::size_t n, std::size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/// Bytes of `count` elements of S, up to a whole number of cache lines.
template <class S>
constexpr std::size_t gemm_bytes(std::size_t count)
{
    return gemm_round_up(count * sizeof(S), 64);
}

/// Takes `count` elements of S off the front of the scratch.
template <class S>
S* gemm_take(std::byte*& front, std::size_t count)
{
    S* taken = reinterpret_cast<S*>(front);
    front += gemm_bytes<S>(count);
    return taken;
}

}  // namespace detail

}  // namespace plait::host
