// What a picture of a program shows: its tensors and operations as boxes, in the stages that they run in.
#pragma once

#include <plait/graph/print.hpp>
#include <plait/graph/program.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/plan/stage_name.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait::detail {

/// How a box looks.
enum class box_look : std::uint8_t { tensor, compute, contraction, collective, update };

/// A program as boxes and lines. Numbers, scalars and what is computed from them alone are words of the boxes that use them.
struct picture {
    struct box {
        std::string text;
        std::string type;  // empty where it is that of what the box is computed from
        box_look look = box_look::compute;
        int stage = -1;  // of a tensor: where it is first used
    };
    struct line {
        int from;
        int to;
    };
    struct stage {
        std::string name;
        stage_kind kind;
        bool in_chunks;  // beside its neighbours, in a pipeline
    };
    std::string title{};
    std::vector<box> boxes{};  // each after those that it is computed from
    std::vector<line> lines{};
    std::vector<stage> stages{};  // none if the plan is not known
};

/// Draws up the picture of a program's data.
class picture_maker {
  public:
    explicit picture_maker(const program_image& image) : image_(image), scalar_(size()), stage_(size(), -1), box_(size(), -1) {}

    picture make()
    {
        p_.title = std::string{image_.name};
        for (std::size_t i = 0; i < size(); ++i) { scalar_[i] = is_scalar(i); }
        find_stages();
        for (std::size_t i = 0; i < size(); ++i) {
            if (!scalar_[i] && is_shown(i)) { add_box(i); }
        }
        return std::move(p_);
    }

  private:
    [[nodiscard]] std::size_t size() const { return image_.nodes.size(); }
    [[nodiscard]] const node& at(int i) const { return image_.node_of(i); }
    [[nodiscard]] static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    /// The operands that a box is computed from: of an update not the tensor's old value.
    static int first_operand(const node& n) { return n.kind == op::update ? 1 : 0; }

    /// Whether a node is computed from numbers and scalars alone.
    [[nodiscard]] bool is_scalar(std::size_t i) const
    {
        const node& n = image_.nodes[i];
        if (n.kind == op::tensor || is_collective(n.kind) || n.kind == op::update) { return false; }
        for (int a = 0; a < n.n_args; ++a) {
            if (!scalar_[index(n.args[a])]) { return false; }
        }
        return true;
    }
    /// Tensors that are only written are not shown: their updates are.
    [[nodiscard]] bool is_shown(std::size_t i) const
    {
        if (image_.nodes[i].kind != op::tensor) { return true; }
        for (const node& n : image_.nodes) {
            for (int a = first_operand(n); a < n.n_args; ++a) {
                if (index(n.args[a]) == i) { return true; }
            }
        }
        return false;
    }

    void find_stages()
    {
        int pipeline_end = 0;
        for (std::size_t s = 0; s < image_.plan.passes.size(); ++s) {
            pipeline_end = std::max(pipeline_end, image_.plan.passes[s].chunked_until);
            p_.stages.push_back({stage_name(image_, s), kind_of_stage(image_.plan.passes[s]), static_cast<int>(s) < pipeline_end});
            const std::vector<bool> within = nodes_of_stage(image_, s);
            for (std::size_t i = 0; i < size(); ++i) {
                if (within[i] && stage_[i] < 0) { stage_[i] = static_cast<int>(s); }
            }
        }
        // Updates and slices that are no steps of their own: with what they store or cut.
        for (std::size_t i = 0; i < size(); ++i) {
            const node& n = image_.nodes[i];
            if (is_leaf(n.kind) || stage_[i] >= 0) { continue; }
            for (int a = first_operand(n); a < n.n_args; ++a) { stage_[i] = std::max(stage_[i], stage_[index(n.args[a])]); }
        }
        // Tensors, and what is cut from them: with what uses them first.
        for (std::size_t i = size(); i-- > 0;) {
            const node& n = image_.nodes[i];
            if (stage_[i] < 0) { continue; }
            for (int a = first_operand(n); a < n.n_args; ++a) {
                int& s = stage_[index(n.args[a])];
                const bool unset = at(n.args[a]).kind == op::tensor || at(n.args[a]).kind == op::slice;
                if (unset && (s < 0 || s > stage_[i])) { s = stage_[i]; }
            }
        }
    }

    void add_box(std::size_t i)
    {
        const node& n = image_.nodes[i];
        picture::box b;
        b.stage = stage_[i];
        b.look = n.kind == op::tensor        ? box_look::tensor
                 : n.kind == op::update      ? box_look::update
                 : is_collective(n.kind)     ? box_look::collective
                 : is_contraction(n.kind)    ? box_look::contraction
                                             : box_look::compute;
        b.text = words(n);
        b.type = type_words(n);
        box_[i] = static_cast<int>(p_.boxes.size());
        for (int a = first_operand(n); a < n.n_args; ++a) {
            const int from = box_[index(n.args[a])];
            if (from < 0) { continue; }
            p_.lines.push_back({from, box_[i]});
            const bool plain = b.look == box_look::compute || b.look == box_look::update;
            if (plain && type_words(at(n.args[a])) == type_words(n)) { b.type.clear(); }
        }
        p_.boxes.push_back(std::move(b));
    }

    [[nodiscard]] std::string type_words(const node& n) const
    {
        std::string s = joined({name_of(n.type), " ["});
        for (int d = 0; d < n.dims; ++d) {
            const packed_extent e = n.shape[d];
            s += d > 0 ? ", " : "";
            s += !is_named(e) ? std::to_string(e) : is_per_tensor(e) ? joined({"tensors(", image_.text(symbol_of(e)), ")"}) : std::string{image_.text(symbol_of(e))};
        }
        s += joined({"] ", name_of(n.layout)});
        if (n.layout == layout_kind::sliced) { s += joined({"<", n.slice_dim, ">"}); }
        return n.group > 0 ? joined({s, " on group ", n.group}) : s;
    }

    static std::string_view symbol(op k)
    {
        switch (k) {
        case op::add: return "+";
        case op::neg:
        case op::sub: return "-";
        case op::mul: return "*";
        case op::div: return "/";
        case op::less: return "<";
        case op::less_equal: return "<=";
        case op::equal: return "==";
        case op::not_equal: return "!=";
        default: return {};
        }
    }
    /// Numbers, scalars and what is computed from them, as an expression.
    [[nodiscard]] std::string expression(int i, bool within = true) const
    {
        const node& n = at(i);
        if (n.kind == op::constant) { return number_text(std::bit_cast<double>(n.bits)); }
        if (n.kind == op::world_size) { return "ranks"; }
        if (n.kind == op::scalar) { return std::string{image_.text(n.name)}; }
        const std::string_view sign = symbol(n.kind);
        if (sign.empty() || n.n_args > 2) {
            std::string s = std::string{name_of(n.kind)} + "(";
            for (int a = 0; a < n.n_args; ++a) { s += (a > 0 ? ", " : "") + expression(n.args[a], false); }
            return s + ")";
        }
        const std::string s = n.n_args == 1 ? joined({sign, expression(n.args[0])})
                                            : joined({expression(n.args[0]), " ", sign, " ", expression(n.args[1])});
        return within ? "(" + s + ")" : s;
    }
    /// What a box says: "* (1 - beta1)", "all_reduce sum 'avg'", "p".
    [[nodiscard]] std::string words(const node& n) const
    {
        if (n.kind == op::tensor) { return std::string{image_.text(n.name)}; }
        if (n.kind == op::update) { return "new " + std::string{image_.text(at(n.args[0]).name)}; }
        std::string s;
        const std::string_view sign = symbol(n.kind);
        if (!sign.empty() && n.n_args == 2) {
            if (scalar_[index(n.args[0])]) { s = expression(n.args[0]) + " "; }
            s += sign;
            if (scalar_[index(n.args[1])]) { s += " " + expression(n.args[1]); }
        } else {
            s = std::string{name_of(n.kind)};
            if (is_reduction(n.kind)) { s = std::string{name_of(n.attrs.combine)} + (n.kind == op::reduce_per_tensor ? " per tensor" : ""); }
            const bool combines = n.kind == op::all_reduce || n.kind == op::reduce_scatter || n.kind == op::reduce_to_root;
            if (combines) { s += joined({" ", name_of(n.attrs.combine)}); }
            if (n.kind == op::cast) { s += joined({" ", name_of(n.type)}); }
            for (int a = 0, shown = 0; a < n.n_args; ++a) {
                if (scalar_[index(n.args[a])]) { s += (shown++ > 0 ? ", " : " ") + expression(n.args[a], false); }
            }
        }
        return n.label == -1 ? s : joined({s, " '", image_.text(n.label), "'"});
    }

    const program_image& image_;
    std::vector<bool> scalar_;  // by node
    std::vector<int> stage_;
    std::vector<int> box_;
    picture p_;
};

/// What is said about a stage, after its name.
inline std::string remark_on(const picture::stage& s)
{
    return std::string{s.kind == stage_kind::fused ? " (one kernel)" : ""} + (s.in_chunks ? " (in chunks)" : "");
}

/// The picture of a program, with its stages if it can be lowered.
template <auto Graph>
picture picture_of(program_t<Graph>)
{
    using low = lowered<program_t<Graph>>;
    if constexpr (low::plan.violated == rule::none) {
        return picture_maker(image_of<low>()).make();
    } else {
        program_image image;
        image.name = Graph.name.view();
        image.nodes = {Graph.nodes, static_cast<std::size_t>(Graph.size)};
        image.symbols = {Graph.symbols, static_cast<std::size_t>(Graph.n_symbols)};
        return picture_maker(image).make();
    }
}
inline picture picture_of(const program_image& image) { return picture_maker(image).make(); }

}  // namespace plait::detail
