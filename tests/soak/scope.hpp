// A random program while it grows: its declarations, the values so far, and tensors declared on demand.
#pragma once

#include "dice.hpp"
#include "value.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace soak {

struct scope {
    explicit scope(std::uint64_t seed) : random(seed) { first_only = random.chance(50); }

    dice random;
    std::string text{};               // declarations so far
    std::vector<value> values{};
    std::vector<std::string> tensors{};  // by number
    std::vector<std::string> operations{};  // each once: equal ones are one value, with one label
    std::vector<std::string> labels{};
    std::vector<std::string> whole_tensors{};  // replicated ones with dimensions: as_slice may take them
    std::vector<plait::dtype> floating{};      // that tensors are declared with
    bool first_only = false;          // no slices along another dimension than the first, but sums over whole matrices

    /// A value that fits, most likely one that nothing has read yet, or one of the last.
    const value* pick(const std::function<bool(const value&)>& fits)
    {
        std::vector<const value*> found;
        const bool single = random.chance(20);
        const bool unread = random.chance(50);
        const auto collect = [&](bool read) {
            for (const value& v : values) {
                if ((v.type.dims > 0 || single) && (read || !is_read(v.text)) && fits(v)) { found.push_back(&v); }
            }
        };
        collect(!unread);
        if (found.empty()) { collect(true); }
        if (found.empty()) { return nullptr; }
        const int n = static_cast<int>(found.size());
        return found[static_cast<std::size_t>(std::max({random.below(n), random.below(n), random.below(n)}))];
    }
    const value* pick_number()
    {
        return pick([](const value& v) { return plait::is_floating(v.type.type); });
    }

    /// Declares one more tensor with random elements in [-1, 1), or indices of 8 rows.
    const value& declare(plait::value_type t, bool indices = false)
    {
        const std::string name = (indices ? "i" : "x") + std::to_string(tensors.size());
        tensors.push_back(name);
        t.made_by = plait::op::tensor;
        text += "constexpr auto " + name + " = " + declared(name, t) + ";\n";
        if (t.layout == plait::layout_kind::replicated && t.dims > 0) { whole_tensors.push_back(name); }
        values.push_back({name, t, plait::is_integer(t.type) ? 3.0 : 1.0, 0, true});
        return values.back();
    }
    plait::value_type shaped(plait::dtype type, const std::vector<plait::extent>& shape)
    {
        plait::value_type t;
        t.type = type;
        for (const plait::extent& e : shape) { t.shape[t.dims++] = e; }
        return t;
    }
    /// A random layout for a tensor with this shape.
    void lay_out(plait::value_type& t)
    {
        const int what = random.below(t.dims > 0 ? 3 : 2);
        t.layout = what == 0 ? plait::layout_kind::local : what == 1 ? plait::layout_kind::replicated : plait::layout_kind::sliced;
        t.slice_dim = what == 2 ? first_only ? 0 : random.below(t.dims) : -1;
    }
    /// One of the program's dimensions or a small number.
    plait::extent extent()
    {
        switch (random.below(4)) {
        case 0: return {0, "M", false};
        case 1: return {random.chance(50) ? 4 : 3, {}, false};
        default: return {0, "N", false};
        }
    }

    /// Whether the value may join the program: its elements stay in range, and its errors small.
    [[nodiscard]] bool admits(const value& v) const
    {
        const bool low = v.type.type == plait::dtype::f16 || v.type.type == plait::dtype::bf16;
        const bool in_range = v.largest <= (v.type.type == plait::dtype::u8 ? 250 : low ? 1e3 : 1e5);
        const bool in_order = !first_only || v.type.slice_dim <= 0;
        const bool is_new = std::ranges::find(operations, without_label(v.text)) == operations.end();
        return is_new && in_range && in_order && v.error <= (low ? 0.2 : 1e-2) * std::max(1.0, v.largest) && elements_of(v.type) <= 3e5;
    }
    /// Whether some value is computed from the one with this name.
    [[nodiscard]] bool is_read(const std::string& name) const
    {
        const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
        std::size_t readings = 0;
        for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
            readings += !in_name(text[at - 1]) && !in_name(text[at + name.size()]) ? 1 : 0;
        }
        return readings > 1;
    }
    void add(value v)
    {
        const std::string name = "v" + std::to_string(values.size());
        text += "constexpr auto " + name + " = " + v.text + ";\n";
        operations.push_back(without_label(v.text));
        v.text = name;
        values.push_back(std::move(v));
    }
    static std::string without_label(const std::string& operation)
    {
        const std::size_t at = operation.find(">(");
        return operation.starts_with("pl::label") ? operation.substr(at + 2, operation.size() - at - 3) : operation;
    }
    /// Names the operation with this text, so that schedules can speak of it.
    std::string labelled(const std::string& operation)
    {
        const std::string label = "l" + std::to_string(labels.size());
        labels.push_back(label);
        return "pl::label<\"" + label + "\">(" + operation + ")";
    }
};

}  // namespace soak
