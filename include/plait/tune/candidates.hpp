// The schedules that a tuner chooses from.
#pragma once

#include <plait/graph/program.hpp>
#include <plait/lang/expression.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/run/executable.hpp>
#include <plait/tune/explore.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace plait {

/// Schedules with the names under which a tuner speaks of them; the first is what all others are measured against.
template <class... Programs>
struct schedule_list {
    const char* names[sizeof...(Programs)];
};

namespace detail {

/// A hash of what a program is bound to: its tensors and scalars with dtype, layout and shape, in any order.
template <class Graph>
constexpr std::uint64_t binding_hash(const Graph& g)
{
    std::uint64_t sum = 0;
    for (int i = 0; i < g.size; ++i) {
        const node& n = g[i];
        if (n.kind != op::tensor && n.kind != op::scalar) { continue; }
        std::uint64_t h = mix(hash(g.text(n.name)), static_cast<std::uint64_t>(n.type));
        h = mix(mix(h, static_cast<std::uint64_t>(n.layout)), static_cast<std::uint64_t>(n.sliced_along()));
        h = mix(h, static_cast<std::uint64_t>(n.group));
        for (int d = 0; d < n.dims; ++d) {
            const extent e = g.unpack(n.shape[d]);
            h = mix(hash(e.name, h), static_cast<std::uint64_t>(e.number));
        }
        sum += h;
    }
    return sum;
}

template <class Program, class... Others>
inline constexpr bool bound_alike = ((binding_hash(Program::graph) == binding_hash(Others::graph)) && ...);

/// One schedule as the tuner, which is no template of the programs, works on it.
template <class Communicator>
struct candidate {
    std::string name;
    program_image image;
    std::unique_ptr<executable<Communicator>> (*make)(Communicator&) = nullptr;
    std::unique_ptr<executable<Communicator>> made;

    executable<Communicator>& executable_on(Communicator& comm)
    {
        if (!made) { made = make(comm); }
        return *made;
    }
};

template <class Communicator, class Program>
candidate<Communicator> candidate_of(std::string_view name)
{
    return {std::string(name), detail::image<typename checked_program<Program>::type>(),
            +[](Communicator& comm) { return std::make_unique<executable<Communicator>>(Program{}, comm); },
            nullptr};
}

template <class Communicator, class... Programs, std::size_t... I>
std::vector<candidate<Communicator>> candidates_of(const schedule_list<Programs...>& list, std::index_sequence<I...>)
{
    std::vector<candidate<Communicator>> all;
    (all.push_back(candidate_of<Communicator, Programs>(list.names[I])), ...);
    return all;
}
template <class Communicator, class... Programs>
std::vector<candidate<Communicator>> candidates_of(const schedule_list<Programs...>& list)
{
    return candidates_of<Communicator>(list, std::index_sequence_for<Programs...>{});
}
template <class Communicator, class Explored, class... Programs>
std::vector<candidate<Communicator>> candidates_of(const schedules<Explored, Programs...>& explored)
{
    std::vector<candidate<Communicator>> all;
    explored.for_each([&](auto program, std::string_view how) {
        all.push_back(candidate_of<Communicator, decltype(program)>(how));
    });
    return all;
}

template <class First, class... Programs>
constexpr void must_be_bound_alike()
{
    static_assert(bound_alike<First, Programs...>,
                  "plait: tune: the schedules are bound to different buffers, as as_slice makes them; give schedules that store "
                  "every tensor alike, for instance explore(program, same_storage)");
}

}  // namespace detail

/// Schedules of one program to choose from, with a name each: `candidates({"unscheduled", "fused"}, adam, adam | fuse)`.
/// All must be bound to the same buffers. The first is the one that a tuner never falls behind: the unscheduled program.
template <class First, class... Programs>
constexpr schedule_list<First, Programs...> candidates(const char* const (&names)[1 + sizeof...(Programs)], First, Programs...)
{
    detail::must_be_bound_alike<First, Programs...>();
    schedule_list<First, Programs...> list{};
    for (std::size_t i = 0; i <= sizeof...(Programs); ++i) { list.names[i] = names[i]; }
    return list;
}

}  // namespace plait
