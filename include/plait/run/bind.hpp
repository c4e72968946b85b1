// Checking what a run is given, and completing it: extents from bound numbers and from the sizes of buffers.
#pragma once

#include <plait/core/algorithm.hpp>
#include <plait/core/error.hpp>
#include <plait/core/view.hpp>
#include <plait/graph/node.hpp>
#include <plait/plan/arguments.hpp>
#include <plait/plan/lowered.hpp>
#include <plait/run/binding.hpp>
#include <plait/run/last_bindings.hpp>
#include <plait/run/overlap.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// From bindings to complete arguments. Throws plait::error that names the tensor, the rule and the fix.
/// One per executable; a run that binds the same buffers as the one before is not checked again.
class binder {
  public:
    explicit binder(arguments& args)
        : args_(args),
          image_(args.image()),
          given_(image_.symbols.size()),
          piece_counts_(image_.symbols.size()),
          deduced_from_(image_.symbols.size()),
          last_(image_)
    {
    }

    /// Returns whether anything but the values of scalars has changed since the last call.
    bool bind(view<const binding> bindings)
    {
        if (last_.is_repeated(bindings)) {
            for (std::size_t i = 0; i < bindings.size(); ++i) {
                if (bindings[i].what == binding::kind::scalar) {
                    take_scalar(bindings[i], last_.symbol(i));
                }
            }
            return false;
        }
        last_.forget();
        detail::fill(given_, nullptr);
        detail::fill(args_.extents(), std::int64_t{-1});
        detail::fill(args_.counts(), view<const std::int64_t>{});
        detail::fill(deduced_from_, -1);
        for (const binding& b : bindings) { accept(b); }
        for (const binding& b : bindings) { accept_extent(b); }
        for (int s = 0; s < image_.n_slots(); ++s) { accept_pieces(s); }
        for (int s = 0; s < image_.n_slots(); ++s) { deduce(s); }
        for (int s = 0; s < image_.n_slots(); ++s) { check(s); }
        for (int s = 0; s < image_.n_slots(); ++s) { check_extents_of_others(s); }
        check_scalars();
        overlap_.check(args_, [this](std::initializer_list<text_part> what) { refuse(what); });
        last_.remember(bindings);
        return true;
    }

  private:
    [[noreturn]] void refuse(std::initializer_list<text_part> what) const
    {
        throw error({"program \"", image_.name, "\": ", joined(what)});
    }
    static std::string quoted(std::string_view name) { return joined({"\"", name, "\""}); }
    [[nodiscard]] std::string tensor_name(int s) const
    {
        return joined({"tensor ", quoted(image_.text(image_.slot_node(s).name))});
    }

    [[nodiscard]] bool is_tensor(int s) const { return image_.slot_of(s).is_tensor; }
    /// Tensors of another pipeline group are bound there; what this rank is given for them is not looked at.
    [[nodiscard]] bool is_held_tensor(int s) const { return is_tensor(s) && args_.holds(s); }
    [[nodiscard]] const binding* given_to(int s) const
    {
        return given_[static_cast<std::size_t>(image_.slot_node(s).name)];
    }

    void take_scalar(const binding& b, int symbol)
    {
        for (std::size_t i = 0; i < sizeof b.value; ++i) { args_.scalar(symbol)[i] = b.value[i]; }
    }
    static bool have_counts(view<const piece> pieces, view<const std::int64_t> counts)
    {
        bool all = pieces.size() == counts.size();
        for (std::size_t i = 0; all && i < pieces.size(); ++i) { all = pieces[i].count == counts[i]; }
        return all;
    }

    void accept(const binding& b)
    {
        const int i = image_.symbol(b.name);
        if (i < 0) { refuse({quoted(b.name), " is bound, but the program has no such name; leave it out"}); }
        if (b.what == binding::kind::extent || b.what == binding::kind::counts) { return; }
        const binding*& given = given_[static_cast<std::size_t>(i)];
        if (given != nullptr) { refuse({quoted(b.name), " is bound twice; bind it once"}); }
        given = &b;
        if (b.what == binding::kind::scalar) { take_scalar(b, i); }
    }
    void accept_extent(const binding& b)
    {
        if (b.what != binding::kind::extent && b.what != binding::kind::counts) { return; }
        const auto at = static_cast<std::size_t>(image_.symbol(b.name));
        const std::string name = joined({"dimension ", quoted(b.name)});
        if (args_.extents()[at] >= 0) { refuse({name, " is bound twice; bind it once"}); }
        if (b.count < 0) { refuse({name, " is ", b.count, "; it must be 0 or more"}); }
        for (std::int64_t c : b.counts) {
            if (c < 0) { refuse({name, " has a partition with a count of ", c, "; it must be 0 or more"}); }
        }
        args_.extents()[at] = b.count;
        args_.counts()[at] = b.counts;
    }
    /// A scattered tensor gives its dimension the counts of its tensors.
    void accept_pieces(int s)
    {
        if (!is_held_tensor(s)) { return; }
        const node& n = image_.slot_node(s);
        const binding* b = given_to(s);
        if (b == nullptr || b->what != binding::kind::pieces) { return; }
        const std::string name = tensor_name(s);
        if (n.dims != 1 || !is_named(n.shape[0]) || is_per_tensor(n.shape[0]) || n.layout == layout_kind::sliced) {
            refuse({name, " is bound to scattered buffers; that needs a whole tensor of one named dimension"});
        }
        const auto dim = static_cast<std::size_t>(symbol_of(n.shape[0]));
        std::vector<std::int64_t>& counts = piece_counts_[dim];
        const view<const std::int64_t> known = args_.counts()[dim];
        if (!known.empty()) {
            if (known.data() != counts.data()) {
                refuse({"dimension ", quoted(image_.symbols[dim].view()),
                        " has a partition and a scattered tensor; give one of them"});
            }
            if (!have_counts(b->pieces, known)) {
                refuse(
                    {name, " is scattered into other counts than another tensor of its dimension; give all the same"});
            }
        } else {
            counts.clear();
            for (const piece& p : b->pieces) { counts.push_back(p.count); }
            args_.counts()[dim] = counts;
        }
        for (std::size_t i = 0; i < b->pieces.size(); ++i) {
            if (b->pieces[i].data == nullptr && b->pieces[i].count > 0) {
                refuse({name, ": piece ", i, " is a null pointer and has ", b->pieces[i].count, " elements"});
            }
        }
    }

    /// Finds the one unknown extent of a tensor from the number of elements of its buffer.
    void deduce(int s)
    {
        if (!is_held_tensor(s)) { return; }
        const node& n = image_.slot_node(s);
        const binding* b = given_to(s);
        if (b == nullptr || b->count < 0) { return; }
        int unknown = -1;
        std::int64_t known = 1;
        for (int d = 0; d < n.dims; ++d) {
            if (args_.extent_of(n.shape[d]) >= 0) {
                known *= args_.stored_extent_of(n, d);
            } else if (unknown >= 0) {
                return;
            } else {
                unknown = d;
            }
        }
        const bool in_slices = n.layout == layout_kind::sliced && unknown == n.slice_dim;
        const bool determines = unknown >= 0 && known > 0 && b->count % known == 0 && !in_slices;
        if (!determines) { return; }
        const auto dim = static_cast<std::size_t>(symbol_of(n.shape[unknown]));
        args_.extents()[dim] = b->count / known;
        deduced_from_[dim] = s;
    }

    void check(int s)
    {
        if (!is_held_tensor(s)) { return; }
        const node& n = image_.slot_node(s);
        const std::string name = tensor_name(s);
        const binding* b = given_to(s);
        if (b == nullptr) { refuse({name, " is not bound; add an argument for it"}); }
        if (b->what == binding::kind::scalar) { refuse({name, " is bound to a single value; bind a buffer"}); }
        if (b->type != n.type) {
            refuse({name, " has dtype ", name_of(n.type), ", its buffer ", name_of(b->type),
                    "; bind a buffer of the tensor's dtype"});
        }
        check_extents(n, joined({name, ": "}));
        const std::int64_t needed = args_.stored_elements_of(n);
        if (b->count >= 0 && b->count != needed) {
            const bool sliced = n.layout == layout_kind::sliced;
            refuse({name, " needs ", needed, " elements", sliced ? " (this rank's slice, see slice_of)" : "",
                    ", its buffer has ", b->count, reason(s, n)});
        }
        if (b->read_only && image_.slot_of(s).written) {
            refuse({name, " is updated, its buffer is const; bind a mutable one"});
        }
        if (b->what == binding::kind::buffer && b->data == nullptr && needed > 0) {
            refuse({name, " is bound to a null pointer and has ", needed, " elements"});
        }
        if (b->what == binding::kind::pieces && !goes_by_pieces(s)) {
            refuse({name, " is scattered, but is not read and written element by element alone; bind one buffer"});
        }
        args_.buffer(s) = {static_cast<std::byte*>(b->data), b->pieces};
    }

    /// Whether all that the program does with a tensor can be done piece by piece.
    [[nodiscard]] bool goes_by_pieces(int s) const
    {
        for (const pass_view& p : image_.plan.passes) {
            const bool line = (p.kind == pass_kind::map || p.kind == pass_kind::all_reduce) && image_.node_of(p.space).dims == 1;
            for (std::size_t i = 0; i < p.operands.size(); ++i) {
                const bool indices = p.kind == pass_kind::embedding && i == 1;
                if (p.operands[i].slot == s && !line && !indices) { return false; }
            }
            for (const pass_result& r : p.results) {
                if (r.slot == s && !line) { return false; }
            }
        }
        return true;
    }
    /// A tensor that this rank does not hold has dimensions that it must know, but its name would mislead.
    void check_extents_of_others(int s) const
    {
        if (is_tensor(s) && !args_.holds(s)) { check_extents(image_.slot_node(s), ""); }
    }
    void check_extents(const node& n, std::string_view whose) const
    {
        for (int d = 0; d < n.dims; ++d) {
            if (args_.extent_of(n.shape[d]) >= 0) { continue; }
            const std::string dim = quoted(image_.text(symbol_of(n.shape[d])));
            refuse({whose, "dimension ", dim, " is not known; bind it, e.g. dim<", dim, "> = 1024"});
        }
    }

    /// Which other tensor gave a dimension of n its number: perhaps it is the wrong one.
    [[nodiscard]] std::string reason(int s, const node& n) const
    {
        for (int d = 0; d < n.dims; ++d) {
            if (!is_named(n.shape[d])) { continue; }
            const auto dim = static_cast<std::size_t>(symbol_of(n.shape[d]));
            if (is_per_tensor(n.shape[d]) || deduced_from_[dim] < 0 || deduced_from_[dim] == s) { continue; }
            return joined({"; ", image_.symbols[dim].view(), " = ", args_.extents()[dim], " was taken from ",
                           tensor_name(deduced_from_[dim])});
        }
        return {};
    }

    void check_scalars() const
    {
        for (const node& n : image_.nodes) {
            if (n.kind != op::scalar) { continue; }
            const binding* b = given_[static_cast<std::size_t>(n.name)];
            const std::string name = joined({"scalar ", quoted(image_.text(n.name))});
            if (b == nullptr) { refuse({name, " is not bound; add an argument for it"}); }
            if (b->what != binding::kind::scalar || b->type != n.type) {
                refuse({name, " of dtype ", name_of(n.type), " is bound to something else"});
            }
        }
    }

    arguments& args_;
    const program_image& image_;
    std::vector<const binding*> given_;  // by symbol; of tensors and scalars
    std::vector<std::vector<std::int64_t>> piece_counts_;
    std::vector<int> deduced_from_;  // by dimension: the slot whose buffer gave it its number, or -1
    detail::overlap_check overlap_;
    detail::last_bindings last_;
};

}  // namespace plait
