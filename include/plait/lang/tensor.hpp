// What a program is about: dimensions, layouts, groups, tensors and scalars, each known by its name.
#pragma once

#include <plait/lang/literals.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace plait {

struct partition;

/// A named extent whose number is bound when the program runs: equal names are equal numbers.
template <fixed_string Name>
struct dim_t {
    static constexpr extent value{0, Name.view(), false};  ///< as part of a shape
    static constexpr fixed_string name = Name;             ///< how it is bound
    /// Gives the dimension its number for a run, or the counts of the tensors that make it up. See run/binding.hpp.
    template <std::integral I>
    constexpr auto operator=(I number) const;
    constexpr auto operator=(const partition& counts) const;
};
/// Declares a dimension: `constexpr auto N = dim<"N">;`.
template <fixed_string Name>
inline constexpr dim_t<Name> dim{};

/// A layout of a tensor (see layout_kind), as it is declared with.
template <layout_kind Kind, int SliceDim>
struct layout_t {};
/// Every rank has a whole value of its own.
inline constexpr layout_t<layout_kind::local, -1> local{};
/// Every rank has the whole value, and all have the same.
inline constexpr layout_t<layout_kind::replicated, -1> replicated{};
/// Rank i has part i of dimension `SliceDim`, counted from 0 (which part: slice_of).
template <int SliceDim = 0>
inline constexpr layout_t<layout_kind::sliced, SliceDim> sliced{};

/// A pipeline group, counted from 0. Every tensor is on group 0 unless it says otherwise.
template <int Number, bool Relative = false>
struct group_t {};
/// Pipeline group `Number`: where a tensor is, or a send goes.
template <int Number>
inline constexpr group_t<Number> group{};
/// The groups after and before the one that a sent value is on.
inline constexpr group_t<1, true> next_group{};
inline constexpr group_t<-1, true> previous_group{};

namespace detail {

/// The number as an integer; 0, which is no extent, if it is none or more than an int can hold.
constexpr std::int64_t whole_number(double value)
{
    const bool fits = value >= 1 && value <= 2147483647;
    const auto whole = fits ? static_cast<std::int64_t>(value) : 0;
    return static_cast<double>(whole) == value ? whole : 0;
}

template <class D>
inline constexpr extent extent_of{};
template <fixed_string Name>
inline constexpr extent extent_of<dim_t<Name>> = dim_t<Name>::value;
template <std::uint64_t Bits>
inline constexpr extent extent_of<constant<Bits>>{whole_number(constant<Bits>::value), {}, false};

constexpr bool is_extent(const extent& e) { return !e.name.empty() || e.number >= 1; }

}  // namespace detail

/// A tensor of a program: `Name` is how it is bound at run time. See `tensor`.
template <fixed_string Name, class T, layout_kind Layout, int SliceDim, int Group, class... Dims>
struct tensor_t : operators::expression_base {
    using element = T;                          ///< of its buffers
    static constexpr fixed_string name = Name;  ///< how it is bound
    /// Its dtype, shape, layout and group.
    static constexpr value_type type = [] {
        value_type t;
        t.type = dtype_of<T>;
        t.layout = Layout;
        t.slice_dim = SliceDim;
        t.group = Group;
        t.dims = static_cast<int>(sizeof...(Dims));
        int d = 0;
        ((t.shape[d++] = detail::extent_of<Dims>), ...);
        t.name = Name.view();
        t.made_by = op::tensor;
        return t;
    }();
    static constexpr detail::expression_info info = [] {
        detail::expression_info i;
        i.id = hash(Name.view(), hash("tensor"));
        for (int part : {static_cast<int>(type.type), static_cast<int>(Layout), SliceDim, Group}) {
            i.id = detail::mix(i.id, static_cast<std::uint64_t>(part));
        }
        for (int d = 0; d < type.dims; ++d) {
            i.id = detail::mix(hash(type.shape[d].name, i.id), static_cast<std::uint64_t>(type.shape[d].number));
        }
        i.kind = op::tensor;
        i.type = type;
        return i;
    }();

    /// Binds this tensor to a buffer for a run: `executable(g = buffer)`. See run/binding.hpp.
    template <class Buffer>
    constexpr auto operator=(Buffer&& buffer) const;
};

namespace detail {

template <fixed_string Name, class T, layout_kind Layout, int SliceDim, int Group, class... Dims>
struct checked_tensor {
    static constexpr int dims = static_cast<int>(sizeof...(Dims));
    static consteval auto pick()
    {
        if constexpr (dims > max_dims || !(is_extent(extent_of<Dims>) && ...)) {
            return std::type_identity<
                refuse_with<rule::dims, message{} << "\"" << Name.view() << "\": " << dims << " dimensions">>{};
        } else if constexpr (Layout == layout_kind::sliced && (SliceDim < 0 || SliceDim >= dims)) {
            return std::type_identity<refuse_with<rule::axis, message{} << "\"" << Name.view() << "\": sliced<"
                                                                        << SliceDim << "> of " << dims
                                                                        << " dimensions">>{};
        } else {
            static_assert(dtype_of<T> != dtype::none, "plait: tensor<Name, T>: T is none of bool, std::uint8_t, "
                                                      "std::int32_t, std::int64_t, f16, bf16, float, double");
            return std::type_identity<tensor_t<Name, T, Layout, SliceDim, Group, Dims...>>{};
        }
    }
    using type = typename decltype(pick())::type;
};

}  // namespace detail

/// Declares a tensor: its name, element type, layout, and extents (plait::dim or literals), outermost first. A tensor
/// without dimensions is one number. `tensor<"w", f16>(replicated, 1024_c, N)`. The shape is the whole's, also of a
/// sliced tensor, of which each rank holds its slice alone.
template <fixed_string Name, class T, layout_kind Layout, int SliceDim, class... Dims>
constexpr typename detail::checked_tensor<Name, T, Layout, SliceDim, 0, Dims...>::type tensor(
    layout_t<Layout, SliceDim>, Dims...)
{
    return {};
}
/// The same on a pipeline group: `tensor<"w", f16>(replicated, group<1>, N)`.
template <fixed_string Name, class T, layout_kind Layout, int SliceDim, int Group, class... Dims>
constexpr typename detail::checked_tensor<Name, T, Layout, SliceDim, Group, Dims...>::type tensor(
    layout_t<Layout, SliceDim>, group_t<Group>, Dims...)
{
    return {};
}

/// A single value given when the program runs, equal on every rank: a learning rate, a seed.
template <fixed_string Name, class T>
struct scalar_t : operators::expression_base {
    static_assert(dtype_of<T> != dtype::none, "plait: scalar<Name, T>: T is none of bool, std::uint8_t, std::int32_t, "
                                              "std::int64_t, f16, bf16, float, double");
    using element = T;                          ///< of its value
    static constexpr fixed_string name = Name;  ///< how it is bound
    /// Its dtype; it has no dimensions, and is on every group.
    static constexpr value_type type = [] {
        value_type t;
        t.type = dtype_of<T>;
        t.group = any_group;
        t.name = Name.view();
        t.made_by = op::scalar;
        return t;
    }();
    static constexpr detail::expression_info info = [] {
        detail::expression_info i;
        i.id = detail::mix(hash(Name.view(), hash("scalar")), static_cast<std::uint64_t>(dtype_of<T>));
        i.kind = op::scalar;
        i.type = type;
        return i;
    }();
    /// Gives the scalar its value for a run.
    constexpr auto operator=(T value) const;
};
/// Declares a scalar: `constexpr auto lr = scalar<"lr">;`.
template <fixed_string Name, class T = float>
inline constexpr scalar_t<Name, T> scalar{};

}  // namespace plait
