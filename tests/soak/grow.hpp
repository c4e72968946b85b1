// Grows a random program, valid by the rules of the language, with random schedules: as the source that the driver compiles.
#pragma once

#include "contractions.hpp"
#include "movement.hpp"
#include "reductions.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace soak {

/// Tensors and scalars to begin with: two shapes and what broadcasts against them.
inline void declare_inputs(scope& s)
{
    using plait::dtype;
    const std::vector<std::vector<dtype>> mixes = {{dtype::f32}, {dtype::f32}, {dtype::f64}, {dtype::f32, dtype::f16},
                                                   {dtype::bf16, dtype::f32}, {dtype::f32, dtype::f64}, {dtype::f16}};
    s.floating = s.random.one_of(mixes);
    const plait::extent m{0, "M", false};
    const plait::extent n{0, "N", false};
    const plait::extent four{4, {}, false};
    const std::vector<std::vector<plait::extent>> shapes = {{n}, {n}, {m, n}, {m, n}, {n, four}, {four, n}, {m, four}, {m, four, n}, {m, n, {2, {}, false}}};
    const auto shape = s.random.one_of(shapes);
    for (int i = 0; i < 3 + s.random.below(3); ++i) {
        // The first is local, so that there is something to combine; others may be the row that broadcasts, or one number.
        plait::value_type t = s.shaped(s.random.one_of(s.floating), i > 0 && s.random.chance(25) ? std::vector{shape.back()} : shape);
        s.lay_out(t);
        if (i == 0 || i == 2) {
            t.layout = i == 0 ? plait::layout_kind::local : plait::layout_kind::replicated;
            t.slice_dim = -1;
        }
        s.declare(t);
    }
    if (s.random.chance(30)) {
        const std::vector<dtype> whole = {dtype::i32, dtype::i64, dtype::u8, dtype::boolean};
        for (int i = 0; i < 2; ++i) {
            plait::value_type t = s.shaped(s.random.one_of(whole), shape);
            s.lay_out(t);
            s.declare(t);
            if (t.type == dtype::boolean) { s.values.back().largest = 1; }
        }
    }
    const dtype scalar = s.floating[0] == dtype::f64 ? dtype::f64 : dtype::f32;
    plait::value_type a = s.shaped(scalar, {});
    a.group = plait::any_group;
    a.made_by = plait::op::scalar;
    s.text += std::string("constexpr auto a = pl::scalar<\"a\", ") + cpp_name(scalar) + ">;\n";
    s.values.push_back({"a", a, 0.75, 0, true});
}

inline maybe next_value(scope& s, std::vector<std::string>& outputs)
{
    const int what = s.random.below(100);
    if (what < 23) { return moved(s); }
    if (what < 25) { return sent(s); }
    if (what < 40) { return one_number(s); }
    if (what < 68) { return two_numbers(s); }
    if (what < 74) { return exact(s); }
    if (what < 80) { return reduced(s); }
    if (what < 84) { return normed(s); }
    if (what < 88) { return row_wise(s); }
    if (what < 94) { return product(s); }
    if (what < 95) { return convolution(s); }
    if (what < 97) { return looked_up(s); }
    return updated(s, outputs);
}

/// A random chain of transformations; those that the program does not allow are left out when it is compiled.
inline std::string random_schedule(scope& s)
{
    std::string steps;
    const auto step = [&](const std::string& pass) {
        std::string name = pass.substr(4);  // without pl::
        std::erase(name, '"');
        steps += ".then(\"" + name + "\", " + pass + ")";
    };
    const auto quoted = [](const std::string& label) { return "<\"" + label + "\">"; };
    std::vector<std::string> labels = s.labels;
    for (std::size_t i = labels.size(); i > 1; --i) { std::swap(labels[i - 1], labels[static_cast<std::size_t>(s.random.below(static_cast<int>(i)))]); }
    std::vector<std::string> passes;
    for (const std::string& l : labels) {
        if (s.random.chance(20)) { continue; }
        const int axis = s.first_only ? 0 : s.random.below(3);
        passes.push_back(axis == 0 ? "pl::split" + quoted(l) : "pl::split<\"" + l + "\", " + std::to_string(axis) + ">");
        if (s.random.chance(80)) { passes.push_back("pl::reorder" + quoted(l)); }
    }
    for (const std::string& t : s.whole_tensors) {
        if (s.random.chance(30)) { passes.push_back("pl::as_slice" + quoted(t)); }
    }
    if (s.random.chance(20)) {
        for (std::size_t i = passes.size(); i > 1; --i) { std::swap(passes[i - 1], passes[static_cast<std::size_t>(s.random.below(static_cast<int>(i)))]); }
    }
    for (const std::string& p : passes) { step(p); }
    const int fused = s.random.below(4);
    if (fused < 2) { step("pl::fuse"); }
    if (fused == 2 && !labels.empty()) { step("pl::fuse_only" + quoted(labels[0])); }
    if (labels.size() > 1 && s.random.chance(60)) { step("pl::overlap<\"" + labels[0] + "\", \"" + labels[1] + "\">"); }
    if (!labels.empty() && s.random.chance(30)) { step("pl::overlap" + quoted(labels.back())); }
    return steps;
}

/// The source of one program with so many schedules, in a namespace of its own.
inline std::string random_program(std::uint64_t seed, const std::string& name, int schedules)
{
    scope s(seed);
    declare_inputs(s);
    std::vector<std::string> outputs;  // "x1 = v7": tensor and value
    const int growth = 5 + s.random.below(8);
    int grown = 0;
    for (int attempt = 0; attempt < 300 && grown < growth; ++attempt) {
        const std::size_t before = outputs.size();
        const std::size_t labels = s.labels.size();
        const maybe v = grown == 0 && s.random.chance(80) ? moved(s, &s.values[0]) : next_value(s, outputs);
        if (v && s.admits(*v)) {
            s.add(*v);
            ++grown;
        } else {
            outputs.resize(before);
            s.labels.resize(labels);
        }
    }
    std::string bounds;
    const auto bound = [&](const std::string& tensor, const value& v) {
        std::array<char, 32> number{};
        std::snprintf(number.data(), number.size(), "%.3g", v.exact ? 0 : 4 * v.error + 1e-15);
        bounds += (bounds.empty() ? "{\"" : ", {\"") + tensor + "\", " + number.data() + "}";
    };
    std::string updates;
    for (const std::string& o : outputs) {
        const std::string of = o.substr(o.find("= ") + 2);
        updates += (updates.empty() ? "" : ", ") + of;
        bound(o.substr(0, o.find(' ')), *std::ranges::find(s.values, of, &value::text));
    }
    // What nothing has read yet, and some of what has been.
    const std::vector<value> values = s.values;
    int more = 5;
    for (std::size_t i = values.size(); i-- > 0 && more > 0;) {
        const value& v = values[i];
        const bool computed = v.type.made_by != plait::op::tensor && v.type.made_by != plait::op::scalar && v.type.made_by != plait::op::update;
        const bool storable = v.type.group >= 0 && (v.type.dims == 0 || !v.type.shape[0].per_tensor) && (v.type.dims > 0 || !v.type.is_sliced());
        if (!computed || !storable || (s.is_read(v.text) && s.random.chance(85))) { continue; }
        --more;
        const std::string tensor = "o" + std::to_string(i);
        plait::value_type t = v.type;
        if (t.type == plait::dtype::none) { continue; }
        s.text += "constexpr auto " + tensor + " = " + declared(tensor, t) + ";\n";
        if (t.layout == plait::layout_kind::replicated && t.dims > 0) { s.whole_tensors.push_back(tensor); }
        updates += (updates.empty() ? "pl::update(" : ", pl::update(") + tensor + ", " + v.text + ")";
        bound(tensor, v);
    }
    std::string source = "namespace " + name + " {\n" + s.text + "constexpr auto whole = pl::program<\"" + name + "\">(" + updates + ");\n";
    source += "soak::candidate make()\n{\n    const auto start = soak::chain(whole);\n";
    source += "    soak::candidate c(\"" + name + "\", start, {" + bounds + "});\n";
    for (int i = 0; i < schedules; ++i) {
        const std::string steps = random_schedule(s);
        if (!steps.empty()) { source += "    c.add(start" + steps + ");\n"; }
    }
    return source + "    return c;\n}\nconst soak::registered here(&make);\n}  // namespace " + name + "\n";
}

}  // namespace soak
