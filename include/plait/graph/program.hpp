// A program as a type that holds its graph.
#pragma once

#include <plait/graph/print.hpp>

#include <string>

namespace plait {

/// A program, scheduled or not: its graph is in its type. `adam | split<"avg">` gives another one.
template <auto Graph>
struct program_t {
    static constexpr const auto& graph = Graph;
};

/// A program as text: its graph's.
template <auto Graph>
std::string print(program_t<Graph>) { return print(Graph); }

}  // namespace plait
