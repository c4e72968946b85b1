// What a run is given: buffers for tensors, values for scalars, numbers for dimensions.
#pragma once

#include <plait/core/dtype.hpp>
#include <plait/core/view.hpp>
#include <plait/lang/tensor.hpp>
#include <plait/plan/arguments.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>  // and the concepts of ranges: <ranges> brings all of its views, too, which takes compilers long
#include <type_traits>
#include <vector>

namespace plait {

/// Many separate buffers, treated as one logical vector in this order, without a copy. Make it once and bind it to a
/// tensor of one dimension: `run(g = pieces, ...)`. All scattered tensors of a dimension have the same counts.
class scattered {
  public:
    /// From a range of contiguous ranges (std::vector<std::span<float>>, std::vector<std::vector<float>>, ...).
    template <std::ranges::input_range Buffers>
    requires std::ranges::contiguous_range<std::ranges::range_reference_t<Buffers>>
    explicit scattered(Buffers&& buffers)
    {
        using element =
            std::remove_reference_t<std::ranges::range_reference_t<std::ranges::range_reference_t<Buffers>>>;
        static_assert(dtype_of<element> != dtype::none,
                      "plait: scattered: buffers of f16, bf16, float, double, bool, "
                      "std::uint8_t, std::int32_t or std::int64_t");
        type_ = dtype_of<element>;
        read_only_ = std::is_const_v<element>;
        for (auto&& b : buffers) {
            const auto count = static_cast<std::int64_t>(std::ranges::size(b));
            pieces_.push_back({const_cast<std::remove_const_t<element>*>(std::ranges::data(b)), count});
            total_ += count;
        }
    }
    /// The buffers, their elements in all, their dtype, and whether they may only be read.
    [[nodiscard]] view<const piece> pieces() const { return {pieces_.data(), pieces_.size()}; }
    [[nodiscard]] std::int64_t size() const { return total_; }
    [[nodiscard]] dtype type() const { return type_; }
    [[nodiscard]] bool read_only() const { return read_only_; }

  private:
    std::vector<piece> pieces_;
    std::int64_t total_ = 0;
    dtype type_ = dtype::none;
    bool read_only_ = false;
};

/// The counts of the tensors that lie one after the other in a contiguous dimension: `run(N = partition{counts}, ...)`
/// gives reductions per tensor their bounds.
struct partition {
    view<const std::int64_t> counts;
};

/// One named argument of a run; made by `name = value`.
struct binding {
    enum class kind : std::uint8_t { buffer, pieces, scalar, extent, counts };
    kind what = kind::buffer;
    std::string_view name;  // of the tensor, scalar or dimension
    dtype type = dtype::none;
    bool read_only = false;
    void* data = nullptr;
    std::int64_t count = -1;  // elements; -1: not known, as of a plain pointer
    view<const piece> pieces{};
    view<const std::int64_t> counts{};
    alignas(8) unsigned char value[8]{};  // of a scalar
};

namespace detail {

template <class B>
concept contiguous_buffer = std::ranges::contiguous_range<B> && std::ranges::sized_range<B>;

template <class Buffer>
binding bind_buffer(std::string_view name, Buffer&& buffer)
{
    using B = std::remove_reference_t<Buffer>;
    binding b;
    b.name = name;
    if constexpr (std::is_same_v<std::remove_const_t<B>, scattered>) {
        b.what = binding::kind::pieces;
        b.type = buffer.type();
        b.read_only = buffer.read_only();
        b.pieces = buffer.pieces();
        b.count = buffer.size();
    } else if constexpr (std::is_pointer_v<B>) {
        using element = std::remove_pointer_t<B>;
        b.type = dtype_of<element>;
        b.read_only = std::is_const_v<element>;
        b.data = const_cast<std::remove_const_t<element>*>(buffer);
    } else if constexpr (contiguous_buffer<B>) {
        using element = std::remove_reference_t<std::ranges::range_reference_t<B>>;
        b.type = dtype_of<element>;
        b.read_only = std::is_const_v<element>;
        b.data = const_cast<std::remove_const_t<element>*>(std::ranges::data(buffer));
        b.count = static_cast<std::int64_t>(std::ranges::size(buffer));
    } else {
        static_assert(sizeof(B) == 0,
                      "plait: bind a tensor to a contiguous range (std::span, std::vector), a "
                      "pointer, or a plait::scattered");
    }
    return b;
}

template <class T>
constexpr binding bind_scalar(std::string_view name, T value)
{
    binding b;
    b.what = binding::kind::scalar;
    b.name = name;
    b.type = dtype_of<T>;
    const auto bytes = std::bit_cast<std::array<unsigned char, sizeof(T)>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) { b.value[i] = bytes[i]; }
    return b;
}

}  // namespace detail

template <fixed_string Name, class T, layout_kind Layout, int SliceDim, int Group, class... Dims>
template <class Buffer>
constexpr auto tensor_t<Name, T, Layout, SliceDim, Group, Dims...>::operator=(Buffer&& buffer) const
{
    return detail::bind_buffer(Name.view(), buffer);
}

template <fixed_string Name, class T>
constexpr auto scalar_t<Name, T>::operator=(T value) const
{
    return detail::bind_scalar(Name.view(), value);
}

template <fixed_string Name>
template <std::integral I>
constexpr auto dim_t<Name>::operator=(I number) const
{
    binding b;
    b.what = binding::kind::extent;
    b.name = Name.view();
    b.count = static_cast<std::int64_t>(number);
    return b;
}
template <fixed_string Name>
constexpr auto dim_t<Name>::operator=(const partition& p) const
{
    binding b;
    b.what = binding::kind::counts;
    b.name = Name.view();
    b.counts = p.counts;
    b.count = 0;
    for (std::int64_t c : p.counts) { b.count += c; }
    return b;
}

}  // namespace plait
