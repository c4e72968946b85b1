// Runs any program on the ranks of a fabric with buffers of its own, and gives back what it wrote, whole.
#pragma once

#include "reference/oracle.hpp"
#include "run/fabric.hpp"

#include <plait/run/executable.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace harness {

/// A tensor of a program, as it is bound.
struct tensor_info {
    std::string name;
    plait::dtype type;
    plait::layout_kind layout;
    int slice_dim;
    std::vector<plait::packed_extent> shape;
    std::vector<std::string> dim_names;  // by dimension; empty for a number
    bool updated;
    int group;
};

/// A program behind functions, so that one harness is compiled for all.
struct program {
    std::string name;
    int groups = 1;
    std::vector<tensor_info> tensors;
    std::vector<std::pair<std::string, plait::dtype>> scalars;
    std::function<std::unique_ptr<plait::executable<communicator>>(communicator&)> make;
    std::function<std::map<std::string, std::vector<reference::numbers>>(int ranks, const reference::inputs&)> evaluate;
};

/// The same program whose pipelines are cut into so many chunks.
inline program in_chunks(program p, int chunks)
{
    p.make = [make = std::move(p.make), chunks](communicator& comm) {
        auto made = make(comm);
        made->set_chunks(chunks);
        return made;
    };
    return p;
}

/// A program without what it means.
template <class Program>
program described(Program p, std::string name)
{
    program e;
    e.name = std::move(name);
    constexpr const auto& g = Program::graph;
    for (int i = 0; i < g.size; ++i) {
        const plait::node& n = g[i];
        e.groups = std::max(e.groups, n.group + 1);
        if (n.kind == plait::op::scalar) { e.scalars.emplace_back(g.text(n.name), n.type); }
        if (n.kind != plait::op::tensor) { continue; }
        tensor_info t{std::string(g.text(n.name)), n.type, n.layout, n.slice_dim, {}, {}, false, n.group};
        for (int d = 0; d < n.dims; ++d) {
            t.shape.push_back(n.shape[d]);
            t.dim_names.emplace_back(plait::is_named(n.shape[d]) ? g.text(plait::symbol_of(n.shape[d])) : "");
        }
        for (int o = 0; o < g.n_outputs; ++o) { t.updated = t.updated || g[g.outputs[o]].args[0] == i; }
        e.tensors.push_back(t);
    }
    e.make = [p](communicator& comm) { return std::make_unique<plait::executable<communicator>>(p, comm); };
    return e;
}
template <class Program>
program erased(Program p, std::string name)
{
    program e = described(p, std::move(name));
    e.evaluate = [p](int ranks, const reference::inputs& given) { return reference::evaluate(p, ranks, given); };
    return e;
}

/// Writes x as an element of a dtype.
inline void store(plait::dtype type, double x, std::byte* to)
{
    const auto put = [to](auto e) { std::memcpy(to, &e, sizeof e); };
    switch (type) {
    case plait::dtype::boolean: put(x != 0); break;
    case plait::dtype::u8: put(static_cast<std::uint8_t>(x)); break;
    case plait::dtype::i32: put(static_cast<std::int32_t>(x)); break;
    case plait::dtype::i64: put(static_cast<std::int64_t>(x)); break;
    case plait::dtype::f16: put(plait::f16(static_cast<float>(x))); break;
    case plait::dtype::bf16: put(plait::bf16(static_cast<float>(x))); break;
    case plait::dtype::f32: put(static_cast<float>(x)); break;
    default: put(x); break;
    }
}
inline double load(plait::dtype type, const std::byte* from)
{
    const auto get = [from](auto e) {
        std::memcpy(&e, from, sizeof e);
        return e;
    };
    switch (type) {
    case plait::dtype::boolean: return get(bool{}) ? 1 : 0;
    case plait::dtype::u8: return get(std::uint8_t{});
    case plait::dtype::i32: return get(std::int32_t{});
    case plait::dtype::i64: return static_cast<double>(get(std::int64_t{}));
    case plait::dtype::f16: return static_cast<double>(static_cast<float>(get(plait::f16(0.0F))));
    case plait::dtype::bf16: return static_cast<double>(static_cast<float>(get(plait::bf16(0.0F))));
    case plait::dtype::f32: return static_cast<double>(get(float{}));
    default: return get(double{});
    }
}

/// How buffers are laid out.
struct layout {
    std::size_t shift = 0;                   // elements past an aligned address
    bool scattered = false;                  // whole tensors of a dimension with counts lie in separate buffers
    std::vector<std::string> partitioned{};  // dimensions whose counts are given as a partition
};

/// A buffer with guards on both sides, in memory that programs can work on.
class guarded_buffer {
  public:
    guarded_buffer(std::size_t elements, std::size_t size, std::size_t shift)
        : bytes_(elements * size), total_(bytes_ + 2 * guard + 64 + shift * size), memory_(std::make_unique<memory>(total_))
    {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_->there()) + guard;
        start_ = guard + (64 - address % 64) % 64 + shift * size;
        std::fill_n(memory_->here(), total_, mark);
        std::fill_n(data(), bytes_, std::byte{0});
    }
    /// Its elements, as the test sees them, and where programs find them.
    std::byte* data() { return memory_->here() + start_; }
    std::byte* address() { return memory_->there() + start_; }
    void send() { memory_->send(); }
    void fetch() { memory_->fetch(); }
    [[nodiscard]] bool is_intact() const
    {
        const std::span all(memory_->here(), total_);
        const auto marked = [](std::byte b) { return b == mark; };
        return std::ranges::all_of(all.first(start_), marked) && std::ranges::all_of(all.subspan(start_ + bytes_), marked);
    }

  private:
    static constexpr std::size_t guard = 128;
    static constexpr std::byte mark{0xa5};
    std::size_t bytes_;
    std::size_t total_;
    std::unique_ptr<memory> memory_;
    std::size_t start_ = 0;
};

/// The scalars of step t = 0, 1, ...
using scalars_of_step = std::function<std::map<std::string, double>(int)>;

/// What a run wrote: for each updated tensor the whole array, by rank where it is local, else once.
struct outcome {
    std::map<std::string, std::vector<bytes>> written;
    std::map<std::string, plait::dtype> types;
    bool operator==(const outcome&) const = default;

    [[nodiscard]] double number(const std::string& tensor, std::size_t i, std::size_t rank = 0) const
    {
        const plait::dtype type = types.at(tensor);
        return load(type, written.at(tensor)[rank].data() + i * plait::size_of(type));
    }
};

/// One tensor of one rank: its memory, and which elements of the whole it holds.
class rank_tensor {
  public:
    rank_tensor(const tensor_info& info, const reference::inputs& given, int rank, int ranks, const layout& how)
        : info_(info), size_(plait::size_of(info.type))
    {
        reference::shape begin;
        reference::shape count;
        for (std::size_t d = 0; d < info.shape.size(); ++d) {
            const std::int64_t e = info.dim_names[d].empty() ? info.shape[d] : given.extents.at(info.dim_names[d]);
            const bool sliced = info.layout == plait::layout_kind::sliced && info.slice_dim == static_cast<int>(d);
            const auto part = sliced ? plait::slice_of(e, rank, ranks) : plait::slice_range{0, e};
            whole_.push_back(e);
            begin.push_back(part.begin);
            count.push_back(part.count);
        }
        held_.resize(static_cast<std::size_t>(reference::size_of(count)));
        for (std::size_t i = 0; i < held_.size(); ++i) {
            const reference::shape at = reference::coordinates(static_cast<std::int64_t>(i), count);
            std::int64_t offset = 0;
            for (std::size_t d = 0; d < at.size(); ++d) { offset = offset * whole_[d] + begin[d] + at[d]; }
            held_[i] = static_cast<std::size_t>(offset);
        }
        const bool may_scatter = how.scattered && info.shape.size() == 1 && !info.dim_names[0].empty() &&
                                 info.layout != plait::layout_kind::sliced && !plait::is_per_tensor(info.shape[0]) &&
                                 given.counts.contains(info.dim_names[0]);
        scattered_ = may_scatter;
        const reference::shape pieces = may_scatter ? given.counts.at(info.dim_names[0])
                                                    : reference::shape{static_cast<std::int64_t>(held_.size())};
        for (std::int64_t n : pieces) {
            buffers_.emplace_back(static_cast<std::size_t>(n), size_, how.shift);
            for (std::int64_t k = 0; k < n; ++k) { address_.push_back(buffers_.size() - 1), inside_.push_back(k); }
        }
        for (std::size_t b = 0; b < buffers_.size(); ++b) { pieces_.push_back({buffers_[b].address(), pieces[b]}); }
    }

    [[nodiscard]] plait::binding binding() const
    {
        plait::binding b;
        b.name = info_.name;
        b.type = info_.type;
        b.what = scattered_ ? plait::binding::kind::pieces : plait::binding::kind::buffer;
        b.count = static_cast<std::int64_t>(held_.size());
        if (scattered_) {
            b.pieces = pieces_;
        } else {
            b.data = pieces_[0].data;
        }
        return b;
    }
    void fill(const reference::numbers& whole)
    {
        for (std::size_t i = 0; i < held_.size(); ++i) { store(info_.type, whole[held_[i]], element(i)); }
        for (guarded_buffer& b : buffers_) { b.send(); }
    }
    bytes stored()
    {
        for (guarded_buffer& b : buffers_) { b.fetch(); }
        bytes all(held_.size() * size_);
        for (std::size_t i = 0; i < held_.size(); ++i) { std::memcpy(all.data() + i * size_, element(i), size_); }
        return all;
    }
    /// Puts what stored() gave, on the rank that this object stands for, into the whole array.
    void place(const bytes& stored, bytes& whole) const
    {
        whole.resize(static_cast<std::size_t>(reference::size_of(whole_)) * size_);
        for (std::size_t i = 0; i < held_.size(); ++i) {
            std::memcpy(whole.data() + held_[i] * size_, stored.data() + i * size_, size_);
        }
    }
    [[nodiscard]] bool is_intact()
    {
        for (guarded_buffer& b : buffers_) { b.fetch(); }
        return std::ranges::all_of(buffers_, [](const guarded_buffer& b) { return b.is_intact(); });
    }
    [[nodiscard]] const tensor_info& info() const { return info_; }

  private:
    std::byte* element(std::size_t i)
    {
        return buffers_[address_[i]].data() + static_cast<std::size_t>(inside_[i]) * size_;
    }

    const tensor_info& info_;
    std::size_t size_;
    bool scattered_ = false;
    reference::shape whole_;
    std::vector<std::size_t> held_;  // by stored element: its index in the whole
    std::vector<guarded_buffer> buffers_;
    std::vector<plait::piece> pieces_;
    std::vector<std::size_t> address_;  // by stored element: its buffer
    std::vector<std::int64_t> inside_;  // and its index there
};

/// Runs a program `steps` times, on `ranks` ranks for each of its groups, each rank with buffers of its own.
inline outcome run(const program& p, int ranks, const reference::inputs& given, int steps = 1,
                   const scalars_of_step& scalars = {}, const layout& how = {},
                   const std::function<void(communicator&)>& afterwards = {})
{
    // From each rank: whether it wrote outside of its buffers, then what it holds of the updated tensors of its group.
    const auto all = on_ranks(ranks * p.groups, [&](communicator& comm) {
        const int rank = comm.rank() % ranks;
        std::vector<rank_tensor> tensors;
        tensors.reserve(p.tensors.size());
        std::vector<plait::binding> fixed;
        for (const tensor_info& t : p.tensors) {
            if (t.group != comm.rank() / ranks) { continue; }
            const auto& values = given.tensors.at(t.name);
            tensors.emplace_back(t, given, rank, ranks, how);
            tensors.back().fill(values[values.size() == 1 ? 0 : static_cast<std::size_t>(rank)]);
            fixed.push_back(tensors.back().binding());
        }
        for (const auto& [name, extent] : given.extents) {
            plait::binding b;
            b.what = plait::binding::kind::extent;
            b.name = name;
            b.count = extent;
            if (std::ranges::find(how.partitioned, name) != how.partitioned.end()) {
                b.what = plait::binding::kind::counts;
                b.counts = given.counts.at(name);
            }
            fixed.push_back(b);
        }
        const auto executable = p.make(comm);
        for (int step = 0; step < steps; ++step) {
            std::vector<plait::binding> bindings = fixed;
            const auto values = scalars ? scalars(step) : given.scalars;
            for (const auto& [name, type] : p.scalars) {
                plait::binding b;
                b.what = plait::binding::kind::scalar;
                b.name = name;
                b.type = type;
                store(type, values.at(name), reinterpret_cast<std::byte*>(b.value));
                bindings.push_back(b);
            }
            executable->run(bindings);
        }
        settle(comm);
        if (afterwards) { afterwards(comm); }
        std::vector<bytes> mine(1);
        for (rank_tensor& t : tensors) {
            if (!t.is_intact()) { mine[0].push_back(std::byte{1}); }
            if (t.info().updated) { mine.push_back(t.stored()); }
        }
        return mine;
    });
    outcome result;
    std::vector<std::size_t> damaged;
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (!all[r][0].empty()) { damaged.push_back(r); }
        const int rank = static_cast<int>(r) % ranks;
        std::size_t next = 1;
        for (const tensor_info& t : p.tensors) {
            if (!t.updated || t.group != static_cast<int>(r) / ranks) { continue; }
            std::vector<bytes>& whole = result.written[t.name];
            result.types[t.name] = t.type;
            const bool sliced = t.layout == plait::layout_kind::sliced;
            whole.resize(sliced ? 1 : static_cast<std::size_t>(ranks));
            rank_tensor(t, given, rank, ranks, how).place(all[r][next++], whole[sliced ? 0 : static_cast<std::size_t>(rank)]);
        }
    }
    INFO(p.name, ": bytes outside of a buffer were written");
    CHECK(damaged == std::vector<std::size_t>{});
    for (const tensor_info& t : p.tensors) {
        if (!t.updated || t.layout != plait::layout_kind::replicated) { continue; }
        auto& whole = result.written[t.name];
        INFO(p.name, ": tensor ", t.name, " differs between ranks");
        CHECK(std::ranges::all_of(whole, [&](const bytes& b) { return b == whole[0]; }));
        whole.resize(1);
    }
    return result;
}

/// The oracle's result of as many steps: each starts from what the one before has written.
inline std::map<std::string, std::vector<reference::numbers>> expected(const program& p, int ranks,
                                                                       reference::inputs given, int steps = 1,
                                                                       const scalars_of_step& scalars = {})
{
    std::map<std::string, std::vector<reference::numbers>> all;
    for (int step = 0; step < steps; ++step) {
        if (scalars) { given.scalars = scalars(step); }
        for (auto& [name, values] : p.evaluate(ranks, given)) {
            all[name] = values;
            given.tensors[name] = values;
        }
    }
    return all;
}

/// The largest |result - expected| / max(1, |expected|) over all tensors; infinite where one is NaN and the other not.
inline double largest_error(const outcome& result,
                            const std::map<std::string, std::vector<reference::numbers>>& expected)
{
    double largest = 0;
    for (const auto& [name, ranks] : result.written) {
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            const reference::numbers& values = expected.at(name)[r];
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double x = result.number(name, i, r);
                if (x == values[i] || (std::isnan(x) && std::isnan(values[i]))) { continue; }
                const double error = std::fabs(x - values[i]) / std::max(1.0, std::fabs(values[i]));
                largest = std::isnan(error) ? INFINITY : std::max(largest, error);
            }
        }
    }
    return largest;
}

/// n numbers, evenly spread over [low, high), the same for the same seed.
inline reference::numbers random_numbers(std::int64_t n, std::uint64_t seed, double low = -1, double high = 1)
{
    std::mt19937_64 engine(seed);
    reference::numbers x(static_cast<std::size_t>(n));
    for (double& e : x) { e = low + (high - low) * static_cast<double>(engine() >> 11U) * 0x1p-53; }
    return x;
}
/// The same, rounded to a dtype, so that program and oracle start from equal values.
inline reference::numbers random_numbers(plait::dtype type, std::int64_t n, std::uint64_t seed, double low = -1,
                                         double high = 1)
{
    reference::numbers x = random_numbers(n, seed, low, high);
    for (double& e : x) {
        std::byte storage[8];
        store(type, e, storage);
        e = load(type, storage);
    }
    return x;
}

}  // namespace harness
