// Sums over many tiles in the canonical order, for element types known at run time.
#pragma once

#include <plait/target/host/combine.hpp>

#include <cstring>
#include <memory>
#include <type_traits>

namespace plait::host {

/// What a reduction of elements of type T accumulates in.
template <class T>
using accumulator_t = std::conditional_t<
    std::is_same_v<T, double>, double,
    std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>, float, std::int64_t>>;

inline constexpr std::size_t lanes = 16;

/// Element i of everything added goes to lane i % 16, however it is cut into pieces; the lanes are then combined in a
/// fixed tree. So a long sum has the same bits for every tile size, and vectorises.
template <reduction R, class Acc>
struct lane_accumulator {
    Acc lane[lanes];
    std::size_t next = 0;  // the lane of the next element

    lane_accumulator()
    {
        for (Acc& a : lane) { a = identity_of<R, Acc>(); }
    }
    template <class T>
    void add(const T* x, std::size_t n)
    {
        std::size_t i = 0;
        for (; next != 0 && i < n; ++i) { add_one(x[i]); }
        Acc local[lanes];
        std::memcpy(local, lane, sizeof lane);
        for (; i + lanes <= n; i += lanes) {
            PLAIT_INDEPENDENT_LOOP
            for (std::size_t k = 0; k < lanes; ++k) {
                local[k] = kernels::combine<R, Acc>(local[k], static_cast<Acc>(x[i + k]));
            }
        }
        std::memcpy(lane, local, sizeof lane);
        for (; i < n; ++i) { add_one(x[i]); }
    }
    [[nodiscard]] Acc result() const
    {
        Acc tree[lanes];
        std::memcpy(tree, lane, sizeof lane);
        for (std::size_t half = lanes / 2; half > 0; half /= 2) {
            for (std::size_t k = 0; k < half; ++k) { tree[k] = kernels::combine<R, Acc>(tree[k], tree[k + half]); }
        }
        return tree[0];
    }

  private:
    template <class T>
    void add_one(T x)
    {
        lane[next] = kernels::combine<R, Acc>(lane[next], static_cast<Acc>(x));
        next = (next + 1) % lanes;
    }
};

/// A lane_accumulator whose types are known at run time.
class accumulator {
  public:
    virtual ~accumulator() = default;
    virtual void reset() = 0;
    /// Adds n elements of the tile's dtype.
    virtual void add(const void* x, std::size_t n) = 0;
    /// Stores the reduction so far, divided by `divisor` (for a mean), as an element of dtype `type`.
    virtual void store(dtype type, double divisor, void* out) const = 0;
};

template <reduction R, class T>
class typed_accumulator final : public accumulator {
  public:
    void reset() override { sum_ = {}; }
    void add(const void* x, std::size_t n) override { sum_.add(static_cast<const T*>(x), n); }
    void store(dtype type, double divisor, void* out) const override
    {
        auto total = sum_.result();
        if constexpr (std::is_same_v<T, float>) {
            if (divisor != 1) { total = static_cast<float>(static_cast<double>(total) / divisor); }
            if (type == dtype::f16) { return put(f16(total), out); }
            if (type == dtype::bf16) { return put(bf16(total), out); }
        } else if constexpr (std::is_same_v<T, double>) {
            total /= divisor;
        }
        put(static_cast<T>(total), out);
    }

  private:
    template <class E>
    static void put(E e, void* out) { std::memcpy(out, &e, sizeof e); }
    lane_accumulator<R, accumulator_t<T>> sum_;
};

/// For a reduction whose terms lie in tiles of dtype `tile` (never f16 or bf16: those are f32 in tiles).
inline std::unique_ptr<accumulator> make_accumulator(reduction r, dtype tile)
{
    std::unique_ptr<accumulator> made;
    with_reduction(r, [&](auto op) {
        constexpr reduction R = decltype(op)::value;
        switch (tile) {
        case dtype::u8: made = std::make_unique<typed_accumulator<R, std::uint8_t>>(); break;
        case dtype::i32: made = std::make_unique<typed_accumulator<R, std::int32_t>>(); break;
        case dtype::i64: made = std::make_unique<typed_accumulator<R, std::int64_t>>(); break;
        case dtype::f64: made = std::make_unique<typed_accumulator<R, double>>(); break;
        default: made = std::make_unique<typed_accumulator<R, float>>(); break;
        }
    });
    return made;
}

}  // namespace plait::host
