#include <plait/core/view.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using plait::view;

struct base {
    int number = 0;
};
struct derived : base {
    int more = 0;
};

// Elements may become const, and nothing else: of another size, they would be found at the wrong places.
static_assert(std::is_convertible_v<view<int>, view<const int>>);
static_assert(!std::is_convertible_v<view<const int>, view<int>>);
static_assert(!std::is_convertible_v<const std::vector<int>&, view<int>>);
static_assert(!std::is_convertible_v<view<derived>, view<base>>);
static_assert(!std::is_convertible_v<view<int>, view<long>>);
static_assert(!std::is_convertible_v<int, view<int>>);
static_assert(!std::is_convertible_v<int*, view<int>>);
// A temporary owner's elements may be looked at, as by a function that is given one, but not changed.
static_assert(!std::is_convertible_v<std::vector<int>, view<int>>);
static_assert(!std::is_convertible_v<std::array<int, 2>, view<int>>);
static_assert(std::is_convertible_v<std::vector<int>, view<const int>>);
static_assert(std::is_convertible_v<std::span<int>, view<int>>);
static_assert(std::is_same_v<decltype(view(std::vector<int>{})), view<const int>>);

struct without_size {
    int* data() const { return nullptr; }
};
static_assert(!std::is_convertible_v<without_size, view<int>>);

template <class T>
concept takes_zero_and_one = requires(void (*take)(T)) { take({0, 1}); };
static_assert(takes_zero_and_one<std::vector<int>>);
static_assert(!takes_zero_and_one<view<const int>>);
static_assert(!std::is_constructible_v<view<int>, std::nullptr_t, int>);

static_assert(std::is_convertible_v<view<int>&, std::span<int>>);
static_assert(std::is_convertible_v<view<int>, std::span<const int>>);
static_assert(std::is_trivially_copyable_v<view<int>>);
static_assert(std::is_same_v<view<const int>::value_type, int>);

// It is what constant expressions work with, too.
constexpr int primes[] = {2, 3, 5, 7, 11};
static_assert(view(primes).size() == 5);
static_assert(view(primes).subspan(1, 3).back() == 7);
static_assert(view(primes).subspan(5).empty());
static_assert(view(primes).first(0).empty());
static_assert(view<const int>{}.data() == nullptr);
static_assert(view(primes).size_bytes() == 5 * sizeof(int));

#ifdef _GLIBCXX_ASSERTIONS
// What is outside a view is refused though its owner goes on: no constant expression contains the trap.
template <auto F>
concept is_constant = requires { typename std::bool_constant<(F(), true)>; };
static_assert(is_constant<[] { return view(primes).first(2)[1]; }>);
static_assert(!is_constant<[] { return view(primes).first(2)[2]; }>);
static_assert(is_constant<[] { return view(primes).first(2).subspan(2).size(); }>);
static_assert(!is_constant<[] { return view(primes).first(2).first(3).size(); }>);
static_assert(!is_constant<[] { return view(primes).first(2).subspan(3).size(); }>);
static_assert(!is_constant<[] { return view(primes).first(2).subspan(1, 2).size(); }>);
static_assert(!is_constant<[] { return view(primes).first(0).front(); }>);
static_assert(!is_constant<[] { return view(primes).first(0).back(); }>);
#endif

TEST_CASE("a view shows the elements of whatever owns them")
{
    std::vector<int> numbers{1, 2, 3};
    const view<int> all = numbers;
    all[1] = 7;
    all.front() += 4;
    CHECK(numbers == std::vector<int>{5, 7, 3});
    CHECK(all.data() == numbers.data());
    CHECK(all.end() - all.begin() == 3);

    const std::array<int, 2> pair{8, 9};
    CHECK(view<const int>(pair).back() == 9);
    CHECK(view<const int>(std::span(numbers).last(1)).front() == 3);
    CHECK(view(std::string_view("word")).size() == 4);
    CHECK(view<const int>(std::vector<int>{}).empty());

    int sum = 0;
    for (int n : all.subspan(1)) { sum += n; }
    CHECK(sum == 10);
}

TEST_CASE("views convert to std::span and back")
{
    std::vector<int> numbers{1, 2, 3};
    const view<int> here = numbers;
    const std::span<int> there = here;
    CHECK(there.data() == numbers.data());
    CHECK(there.size() == 3);
    CHECK(view<const int>(there).data() == numbers.data());
}

}  // namespace
