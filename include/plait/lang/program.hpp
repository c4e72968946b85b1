// label, update, program: naming operations, writing tensors, and the whole as one graph value.
#pragma once

#include <plait/graph/rules.hpp>  // first: a compile error about a rule then lists few includes

#include <plait/graph/program.hpp>
#include <plait/lang/composite.hpp>
#include <plait/lang/flatten.hpp>

#include <string_view>
#include <type_traits>

namespace plait {

namespace detail {

template <fixed_string Label, class E>
struct labelled {
    static constexpr expression_info info = [] {
        expression_info i = E::info;
        i.id = mix(hash(Label.view(), hash("label")), i.id);
        i.type.name = Label.view();
        i.label = Label.view();
        i.n_args = 1;
        i.args[0] = &E::info;
        return i;
    }();
};

template <fixed_string Label, class E>
consteval auto checked_label()
{
    if constexpr (refused_expression<E>) {
        return std::type_identity<E>{};
    } else if constexpr (is_leaf(E::type.made_by)) {
        return std::type_identity<refuse_with<rule::label_target, message{} << "\"" << Label.view() << "\": label of "
                                                                            << E::type>>{};
    } else {
        return intern<labelled<Label, E>>{};
    }
}

/// A graph, or the rule that the program as a whole violates.
template <class Graph>
struct flat_program {
    Graph g{};
    rule violated = rule::none;
    message why{};
    bool overflow = false;
};

/// What only the whole program shows: names and labels that clash, outputs that are no updates, updates that clash.
template <class Graph>
constexpr void check_program(flat_program<Graph>& p)
{
    const Graph& g = p.g;
    const auto refuse_node = [&p](rule r, int i, std::string_view what) {
        if (p.violated != rule::none) { return; }
        p.violated = r;
        p.why << p.g.type_of(i) << what;
    };
    for (int o = 0; o < g.n_outputs; ++o) {
        if (g[g.outputs[o]].kind != op::update) { refuse_node(rule::output, g.outputs[o], ": an output"); }
    }
    bool is_dim[Graph::symbol_capacity]{};
    for (int i = 0; i < g.size; ++i) {
        for (int d = 0; d < g[i].dims && g[i].kind == op::tensor; ++d) {
            if (is_named(g[i].shape[d])) { is_dim[symbol_of(g[i].shape[d])] = true; }
        }
    }
    for (int i = 0; i < g.size; ++i) {
        if (g[i].name >= 0 && is_dim[g[i].name]) { refuse_node(rule::name_twice, i, ": also the name of a dimension"); }
        const bool updates = g[i].kind == op::update;
        if (updates && !g.is_output(i)) { refuse_node(rule::update_hidden, i, ": no output"); }
        for (int j = 0; j < i && (updates || g[i].name >= 0); ++j) {
            const bool named = g[i].name >= 0 && g[i].name == g[j].name;
            if (named) { refuse_node(rule::name_twice, i, ": declared twice"); }
            const bool both = updates && g[j].kind == op::update;
            if (both && g[i].args[0] == g[j].args[0]) { refuse_node(rule::update_twice, i, ": updated twice"); }
        }
    }
}

/// Marks the additions that take a product of their own, used nowhere else, as one fused multiply-add. Decided once
/// for the unscheduled program, so that every schedule rounds alike.
template <class Graph>
constexpr void mark_contractions(Graph& g)
{
    int uses[Graph::node_capacity]{};
    for (int i = 0; i < g.size; ++i) {
        for (int a = 0; a < g[i].n_args; ++a) { ++uses[g[i].args[a]]; }
    }
    for (int i = 0; i < g.size; ++i) {
        if (g[i].kind != op::add && g[i].kind != op::sub) { continue; }
        if (g[i].type != dtype::f32 && g[i].type != dtype::f64) { continue; }
        for (int a = 1; a >= 0; --a) {
            const node& product = g[g[i].args[a]];
            const bool own = product.kind == op::mul && product.type == g[i].type && uses[g[i].args[a]] == 1;
            if (own) { g[i].contracts = 1 + a; }
        }
    }
}

template <int Nodes, int Symbols, fixed_string Name, class... Outputs>
consteval auto flatten_into()
{
    constexpr int n_outputs = static_cast<int>(sizeof...(Outputs));
    using graph_type = graph<Nodes, Symbols, n_outputs == 0 ? 1 : n_outputs>;
    flattening<graph_type> f;
    f.g.name = Name;
    ((f.g.outputs[f.g.n_outputs++] = f.add(&Outputs::info)), ...);
    flat_program<graph_type> p;
    p.overflow = f.overflow;
    if (!p.overflow) {
        p.g = f.g;
        p.violated = f.violated;
        p.why = f.why;
        check_program(p);
        mark_contractions(p.g);
    }
    return p;
}

template <int Nodes, fixed_string Name, class... Outputs>
struct flattened {
    static constexpr auto result = flatten_into<Nodes, Nodes / 2, Name, Outputs...>();
    static consteval auto pick()
    {
        if constexpr (result.overflow) {
            return std::type_identity<typename flattened<Nodes * 4, Name, Outputs...>::type>{};
        } else if constexpr (result.violated != rule::none) {
            return std::type_identity<refused<result.violated, cut<result.why.size() + 1>(result.why)>>{};
        } else {
            constexpr auto& g = result.g;
            return std::type_identity<program_t<g.template resized<g.size, g.n_symbols + 1, g.n_outputs>()>>{};
        }
    }
    using type = typename decltype(pick())::type;
};

template <class Refused, fixed_string Name, class... Outputs>
struct program_or_refused {
    using type = Refused;
};
template <fixed_string Name, class... Outputs>
struct program_or_refused<void, Name, Outputs...> : flattened<128, Name, Outputs...> {};

}  // namespace detail

/// Names an operation, so that a schedule can speak of it. Where the value is computed from one collective by
/// elementwise operations, as in `label<"avg">(all_reduce(sum, g) / world_size)`, the label is that collective's.
template <fixed_string Label, expression E>
constexpr typename decltype(detail::checked_label<Label, E>())::type label(E) { return {}; }

/// Gives tensor t a new value when the program runs: an output of the program. As an expression it is the new value,
/// while t itself stays the old one. The value has t's dtype, shape and layout; a value without dimensions fills t.
template <expression T, expression E>
constexpr detail::make<op::update, attributes{}, T, E> update(T, E) { return {}; }

/// A program: its outputs are updates of tensors. Scheduled with `|` (see schedule/), run by plait::executable.
template <fixed_string Name, expression... Outputs>
constexpr typename detail::program_or_refused<typename detail::first_refused<Outputs...>::type, Name, Outputs...>::type
program(Outputs...)
{
    return {};
}

}  // namespace plait
