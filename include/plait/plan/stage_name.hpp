// What the passes of a plan are called when people look at them, and whether they compute, communicate or both.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/error.hpp>
#include <plait/graph/op.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

/// What a pass does. compute: it works on this rank's memory alone. communication: it moves or combines what ranks have.
/// fused: both, in one kernel.
enum class stage_kind : std::uint8_t { compute, communication, fused };

constexpr std::string_view name_of(stage_kind k)
{
    constexpr std::string_view names[] = {"compute", "communication", "fused"};
    return names[static_cast<int>(k)];
}

namespace detail {

/// Whether an operand is other ranks' memory, too.
constexpr bool is_of_peers(const pass_operand& o) { return o.slot >= 0 && o.from != source::own; }

/// A list of names without repetition: "m, v".
struct name_list {
    std::vector<std::string> names;

    void add(std::string name)
    {
        if (!name.empty() && !contains(names, name)) { names.push_back(std::move(name)); }
    }
    [[nodiscard]] std::string text() const
    {
        std::string s;
        for (const std::string& n : names) { s += (s.empty() ? "" : ", ") + n; }
        return s;
    }
};

/// The tensor that a slot is, or nothing for workspace.
inline std::string tensor_name(const program_image& image, int slot)
{
    if (slot < 0 || !image.slot_of(slot).is_tensor) { return {}; }
    return std::string{image.text(image.slot_node(slot).name)};
}
inline std::string label_of(const program_image& image, const node& n)
{
    return n.label == -1 ? std::string{} : std::string{image.text(n.label)};
}

}  // namespace detail

/// Whether a pass computes, communicates or does both.
constexpr stage_kind kind_of_stage(const pass_view& pass)
{
    bool peers = false;
    for (const pass_operand& o : pass.operands) { peers = peers || detail::is_of_peers(o); }
    for (const pass_result& r : pass.results) { peers = peers || r.to != destination::own; }
    if (!peers) { return stage_kind::compute; }
    return pass.fused ? stage_kind::fused : stage_kind::communication;
}

/// The nodes that a pass evaluates, by index: from its results back to its operands. The collectives that it reads or writes
/// through are among them; leaves are not.
inline std::vector<bool> nodes_of_stage(const program_image& image, std::size_t pass)
{
    const pass_view& p = image.plan.passes[pass];
    std::vector<bool> wanted(image.nodes.size());
    std::vector<bool> loaded(image.nodes.size());
    std::vector<bool> within(image.nodes.size());
    for (const pass_result& r : p.results) { wanted[static_cast<std::size_t>(r.node)] = true; }
    for (const pass_operand& o : p.operands) {
        loaded[static_cast<std::size_t>(o.node)] = o.from != source::mask;  // a dropout is evaluated with its mask
        within[static_cast<std::size_t>(o.node)] = detail::is_of_peers(o);
    }
    for (std::size_t i = image.nodes.size(); i-- > 0;) {
        const node& n = image.nodes[i];
        const bool stored_here = detail::any_of(
            p.results, [&](const pass_result& r) { return static_cast<std::size_t>(r.node) == i && r.to != destination::own; });
        if (!wanted[i] || is_leaf(n.kind)) { continue; }
        if (loaded[i] && !stored_here) { continue; }
        within[i] = true;
        for (int a = n.kind == op::update ? 1 : 0; a < n.n_args && !loaded[i]; ++a) {
            wanted[static_cast<std::size_t>(n.args[a])] = true;
        }
    }
    return within;
}

namespace detail {

/// Puts the name of a pass together.
struct stage_namer {
    const program_image& image;
    std::size_t pass;
    const pass_view& p = image.plan.passes[pass];
    std::string name{};

    void part(std::string_view what, const std::string& of = {})
    {
        if (what.empty()) { return; }
        name += (name.empty() ? "" : " + ") + std::string{what} + (of.empty() ? "" : " " + of);
    }

    /// Matrix products and their like: by label, else by what they multiply.
    void contraction()
    {
        const node& n = image.node_of(p.space);
        name_list of;
        of.add(label_of(image, n));
        for (std::size_t o = 0; o < 2 && o < p.operands.size() && n.label == -1; ++o) {
            of.add(tensor_name(image, p.operands[o].slot));
        }
        part(name_of(n.kind), of.text());
    }

    /// Collectives, each kind once: those through which the pass reads by label, those through which it writes by tensor.
    void collectives(bool writes)
    {
        std::vector<std::pair<op, name_list>> found;
        const auto add = [&](const node& n, std::string of, std::string or_else) {
            auto at = detail::find_if(found, [&](const auto& f) { return f.first == n.kind; });
            if (at == found.end()) {
                found.emplace_back(n.kind, name_list{});
                at = found.end() - 1;
            }
            at->second.add(of.empty() ? std::move(or_else) : std::move(of));
        };
        for (const pass_operand& o : p.operands) {
            if (writes || !is_of_peers(o)) { continue; }
            const node& n = image.node_of(o.node);
            const node& of = image.node_of(n.args[0]);
            add(n, label_of(image, n), is_reduction(of.kind) ? reduction_text(of) : tensor_name(image, o.slot));
        }
        for (const pass_result& r : p.results) {
            if (!writes || r.to == destination::own || p.kind == pass_kind::all_reduce) { continue; }
            add(image.node_of(r.node), tensor_name(image, r.slot), label_of(image, image.node_of(r.node)));
        }
        for (const auto& [kind, names] : found) { part(name_of(kind), names.text()); }
    }

    void computations()
    {
        name_list labels;
        name_list reductions;
        name_list operations;
        name_list updated;
        int computed = 0;
        const std::vector<bool> within = nodes_of_stage(image, pass);
        for (std::size_t i = 0; i < within.size(); ++i) {
            const node& n = image.nodes[i];
            if (!within[i] || is_collective(n.kind) || n.kind == op::update || n.kind == op::slice) { continue; }
            if (is_reduction(n.kind)) {
                reductions.add(reduction_text(n));
                continue;
            }
            labels.add(label_of(image, n));
            operations.add(std::string{name_of(n.kind)});
            ++computed;
        }
        for (const pass_result& r : p.results) {
            if (r.to == destination::own && !r.reduces) { updated.add(tensor_name(image, r.slot)); }
        }
        part(reductions.text());
        if (!labels.names.empty()) {
            part(labels.text());
        } else if (!updated.names.empty()) {
            part(computed > 0 ? "update" : "copy", updated.text());
        } else if (operations.names.size() > 3) {
            part(joined({computed, " operations"}));
        } else if (reductions.names.empty()) {
            part(operations.text());
        }
    }

    /// "max over H", "sum per tensor".
    [[nodiscard]] std::string reduction_text(const node& n) const
    {
        const node& of = image.node_of(n.args[0]);
        const int axis = n.attrs.axis < 0 ? n.attrs.axis + of.dims : n.attrs.axis;
        std::string text{name_of(n.attrs.combine)};
        if (n.kind == op::reduce_per_tensor) { return text + " per tensor"; }
        const bool along = n.attrs.axis != attributes::all_axes && is_named(of.shape[axis]);
        return along ? joined({text, " over ", image.text(symbol_of(of.shape[axis]))}) : text;
    }
};

}  // namespace detail

/// What a pass is called: "all_reduce avg", "matmul mm", "reduce_scatter avg + update m, v + all_gather p". Collectives go by
/// label or tensor, computations by label or by the tensors that they update, else by their operations.
inline std::string stage_name(const program_image& image, std::size_t pass)
{
    detail::stage_namer s{image, pass};
    if (is_contraction(s.p.kind)) {
        s.contraction();
        return std::move(s.name);
    }
    s.collectives(false);
    if (kind_of_stage(s.p) != stage_kind::communication) { s.computations(); }
    s.collectives(true);
    return s.name.empty() ? std::string{name_of(s.p.kind)} : std::move(s.name);
}

}  // namespace plait
