// From expressions to a graph: each expression once, however often it is shared.
#pragma once

#include <plait/lang/expression.hpp>

#include <cstdint>
#include <string_view>

namespace plait::detail {

/// A graph under construction. Gives up, with `overflow` set, when the graph is full.
template <class Graph>
struct flattening {
    static constexpr int capacity = Graph::node_capacity * 2;  // labels are expressions, too
    static constexpr int table_size = capacity * 2;
    Graph g{};
    int n_seen = 0;
    std::uint64_t seen[capacity]{};
    int index[capacity]{};
    int table[table_size]{};  // open addressing by id: 1 + the place in `seen`, or 0
    bool overflow = false;
    rule violated = rule::none;
    message why{};

    /// The node of an expression, added after its operands. A stack of its own: a program may be deeper than the
    /// compilers' limit on nested calls.
    constexpr int add(const expression_info* root)
    {
        const expression_info* stack[capacity]{};
        int next[capacity]{};
        int depth = 1;
        stack[0] = root;
        while (depth > 0 && !overflow) {
            const expression_info* e = stack[depth - 1];
            if (next[depth - 1] < e->n_args) {
                const expression_info* arg = e->args[next[depth - 1]++];
                if (find(arg->id) < 0) {
                    overflow = overflow || depth == capacity;
                    if (!overflow) {
                        stack[depth] = arg;
                        next[depth++] = 0;
                    }
                }
            } else {
                if (find(e->id) < 0) { remember(*e, emit(*e)); }
                --depth;
            }
        }
        return overflow ? 0 : find(root->id);
    }

  private:
    [[nodiscard]] constexpr int find(std::uint64_t id) const
    {
        const int at = table[place_of(id)];
        return at > 0 ? index[at - 1] : -1;
    }
    /// Where an id stands in the table, or would stand.
    [[nodiscard]] constexpr int place_of(std::uint64_t id) const
    {
        int place = static_cast<int>(id % table_size);
        while (table[place] > 0 && seen[table[place] - 1] != id) { place = (place + 1) % table_size; }
        return place;
    }
    constexpr void remember(const expression_info& e, int at)
    {
        overflow = overflow || g.size == Graph::node_capacity || n_seen == capacity ||
                   g.n_symbols + max_dims + 2 > Graph::symbol_capacity;
        if (overflow) { return; }
        const int place = place_of(e.id);
        seen[n_seen] = e.id;
        index[n_seen++] = at;
        table[place] = n_seen;
    }
    constexpr int emit(const expression_info& e)
    {
        if (!e.label.empty()) {
            const int at = find(e.args[0]->id);
            set_label(at, e.label);
            return at;
        }
        node n;
        n.kind = e.kind;
        n.attrs = e.attrs;
        n.bits = e.bits;
        for (int i = 0; i < e.n_args; ++i) { n.args[n.n_args++] = find(e.args[i]->id); }
        if (n.n_args > 0) { n.attrs.axis = wrap_axis(n.attrs.axis, g[n.args[0]].dims); }
        // Along the only dimension is over everything: one pass does both, also over scattered tensors.
        if (n.kind == op::reduce && g[n.args[0]].dims == 1) { n.attrs.axis = attributes::all_axes; }
        if (e.kind == op::tensor || e.kind == op::scalar) { n.name = g.symbol(e.type.name); }
        g.set_type(n, e.type);
        return g.add(n);
    }

    /// Labels the one collective that node `at` is computed from by elementwise operations, or else the node itself.
    constexpr void set_label(int at, std::string_view label)
    {
        bool reached[Graph::node_capacity]{};
        reached[at] = true;
        int found = -1;
        int collectives = 0;
        for (int i = at; i >= 0; --i) {
            if (!reached[i]) { continue; }
            if (is_collective(g[i].kind)) {
                found = i;
                ++collectives;
                continue;
            }
            for (int a = 0; a < g[i].n_args && is_elementwise(g[i].kind); ++a) { reached[g[i].args[a]] = true; }
        }
        const int target = collectives == 0 ? at : found;
        const int other = g.labelled(label);
        const bool taken = g[target].label >= 0 && g.text(g[target].label) != label;
        if (collectives > 1) {
            refuse_label(rule::label_many, label, at);
        } else if ((other >= 0 && other != target) || taken) {
            refuse_label(rule::label_twice, label, target);
        } else {
            g[target].label = g.symbol(label);
        }
    }

    constexpr void refuse_label(rule r, std::string_view label, int at)
    {
        if (violated != rule::none) { return; }
        violated = r;
        why << "\"" << label << "\": label of " << g.type_of(at);
    }
};

}  // namespace plait::detail
