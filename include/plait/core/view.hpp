// A contiguous range that someone else owns.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace plait {
namespace detail {

/// What data() of a range points to. An owner that is temporary lets nobody change its elements.
template <class Range>
using element_of = std::remove_pointer_t<decltype(std::declval<std::conditional_t<std::is_lvalue_reference_v<Range>, Range, const Range&>>().data())>;

}  // namespace detail

/// `size` elements at `data`. Made from all that has data() and size(); where it has a name, or constant elements, it converts
/// to std::span. plait's own headers use it instead of std::span since compilers take several times as long to instantiate a
/// span, and do so for each element type. Preconditions are checked where the standard library's are, by _GLIBCXX_ASSERTIONS.
template <class T>
class view {
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr view() noexcept = default;
    constexpr view(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
    view(std::nullptr_t, std::size_t) = delete;  // {0, 1} is no list of two elements
    template <std::size_t N>
    constexpr view(T (&array)[N]) noexcept : data_(array), size_(N)
    {
    }
    /// Of a std::vector, std::array, std::span or another view; elements may become const, but not change their size.
    template <class Range, class Element = detail::element_of<Range>, class = decltype(std::declval<Range&>().size()),
              class = std::enable_if_t<std::is_convertible_v<Element (*)[], T (*)[]> && !std::is_same_v<std::remove_cvref_t<Range>, view>>>
    constexpr view(Range&& range) noexcept : data_(range.data()), size_(range.size())
    {
    }

    [[nodiscard]] constexpr T* data() const noexcept { return data_; }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
    [[nodiscard]] constexpr T* end() const noexcept { return data_ + size_; }

    /// @pre i < size()
    [[nodiscard]] constexpr T& operator[](std::size_t i) const noexcept
    {
        require(i < size_);
        return data_[i];
    }
    /// @pre not empty()
    [[nodiscard]] constexpr T& front() const noexcept { return (*this)[0]; }
    [[nodiscard]] constexpr T& back() const noexcept { return (*this)[size_ - 1]; }

    /// The first n elements. @pre n <= size()
    [[nodiscard]] constexpr view first(std::size_t n) const noexcept { return subspan(0, n); }
    /// What begins at an element: `n` elements, or all. @pre from <= size(), n <= size() - from
    [[nodiscard]] constexpr view subspan(std::size_t from) const noexcept { return subspan(from, size_ - from); }
    [[nodiscard]] constexpr view subspan(std::size_t from, std::size_t n) const noexcept
    {
        require(from <= size_ && n <= size_ - from);
        return {data_ + from, n};
    }

  private:
    static constexpr void require([[maybe_unused]] bool holds) noexcept
    {
#ifdef _GLIBCXX_ASSERTIONS
        if (!holds) { __builtin_trap(); }
#endif
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
};

template <class Range>
view(Range&&) -> view<detail::element_of<Range>>;

}  // namespace plait
