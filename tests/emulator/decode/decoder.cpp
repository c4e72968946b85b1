// Turns a function's syntax into code: gives registers rows, variables offsets, and labels instructions.
#include "binding.hpp"
#include "image.hpp"
#include "layout.hpp"
#include "special.hpp"

#include <algorithm>
#include <unordered_map>

namespace emulator {
namespace {

constexpr std::uint32_t align_up(std::uint32_t at, std::uint32_t align) { return (at + align - 1) / align * align; }

class function_decoder final : public name_lookup {
  public:
    function_decoder(function& f, module_image& owner) : f_{f}, owner_{owner}, rows_{f} {}

    void run()
    {
        f_.shared_bytes = owner_.shared_bytes;
        lay_out_shared();
        lay_out_parameters();
        scopes_.emplace_back();
        current_ = {0};
        for (const ptx::item& i : f_.syntax->body) { decode_item(i); }
        append_return();
        finish();
    }

    std::optional<operand> find_register(const std::string& name) override
    {
        for (std::size_t i = current_.size(); i-- > 0;) {
            const auto& registers = scopes_[current_[i]].registers;
            const auto at = registers.find(name);
            if (at != registers.end()) { return at->second; }
        }
        return std::nullopt;
    }

    std::optional<operand> find_special(const std::string& name, unsigned width) override
    {
        if (name == "WARP_SZ") { return rows_.constant(n_lanes, width); }
        const auto s = find_special_register(name);
        if (!s || is_clock(s->which)) { return std::nullopt; }
        return rows_.special_register(s->which, s->width);
    }

    operand constant(std::uint64_t bits, unsigned width) override { return rows_.constant(bits, width); }

    std::optional<address> find_symbol(const std::string& name, std::int64_t addend) override
    {
        for (std::size_t i = current_.size(); i-- > 0;) {
            const auto at = scopes_[current_[i]].variables.find(name);
            if (at != scopes_[current_[i]].variables.end()) { return address_of(at->second, addend); }
        }
        if (const auto at = parameters_.find(name); at != parameters_.end()) { return address_of(at->second, addend); }
        if (name == owner_.dynamic_shared) {
            if (!f_.syntax->entry) { throw unsupported("dynamic shared memory in device function " + f_.name); }
            return address_of({space::shared, align_up(f_.shared_bytes, 16), false}, addend);
        }
        if (const auto at = owner_.shared_offsets.find(name); at != owner_.shared_offsets.end()) {
            return address_of({space::shared, at->second, false}, addend);
        }
        if (const ptx::variable* v = owner_.find_variable(name)) {
            if (v->external) { throw unsupported("external variable " + name); }
            return address{rows_.symbol(name, addend), addend, v->space, false};
        }
        if (owner_.find(name) != nullptr) { return address{rows_.symbol(name, addend), addend, space::generic, false}; }
        return std::nullopt;
    }

    const function* find_function(const std::string& name) override { return owner_.find(name); }

    void branch_to(instruction& i, const std::string& label) override
    {
        branches_.push_back({static_cast<std::size_t>(&i - f_.code.data()), label, current_});
    }

    std::vector<std::string> branch_targets(const std::string& label) override { return target_lists_[label]; }

  private:
    struct place {
        emulator::space space;
        std::uint32_t offset;
        bool of_frame;
    };
    struct scope_names {
        std::unordered_map<std::string, operand> registers;
        std::unordered_map<std::string, place> variables;
        std::unordered_map<std::string, std::size_t> labels;
    };
    struct branch {
        std::size_t instruction;
        std::string label;
        std::vector<std::size_t> scopes;
    };

    address address_of(const place& p, std::int64_t addend)
    {
        const std::int64_t offset = p.offset + addend;
        if (p.of_frame) { return {rows_.constant(0, 8), offset, p.space, true}; }
        if (p.space == space::local) {
            return {rows_.local_address(static_cast<std::uint64_t>(offset)), offset, p.space, false};
        }
        return {rows_.constant(static_cast<std::uint64_t>(offset), 8), offset, p.space, false};
    }

    // Shared variables first: the dynamic array begins after the last of them.
    void lay_out_shared()
    {
        for (const ptx::item& i : f_.syntax->body) {
            if (i.kind != ptx::item_kind::variable || i.variable.space != space::shared) { continue; }
            f_.shared_bytes = align_up(f_.shared_bytes, i.variable.align);
            shared_[&i] = f_.shared_bytes;
            f_.shared_bytes += static_cast<std::uint32_t>(i.variable.size);
        }
        for (const ptx::variable& v : owner_.syntax.variables) {
            if (v.space == space::shared && v.size == 0) { owner_.dynamic_shared = v.name; }
        }
    }

    std::uint32_t take_frame(const ptx::variable& v, std::uint32_t& at)
    {
        at = align_up(at, v.align);
        const std::uint32_t offset = at;
        at += static_cast<std::uint32_t>(v.size);
        return offset;
    }

    void lay_out_parameters()
    {
        std::uint32_t& at = f_.syntax->entry ? f_.parameter_bytes : f_.frame_bytes;
        for (const ptx::variable& v : f_.syntax->parameters) {
            const std::uint32_t offset = take_frame(v, at);
            f_.parameters.push_back({v.name, offset, static_cast<std::uint32_t>(v.size)});
            parameters_[v.name] = {space::parameter, offset, !f_.syntax->entry};
        }
        for (const ptx::variable& v : f_.syntax->results) {
            const std::uint32_t offset = take_frame(v, f_.frame_bytes);
            f_.results.push_back({v.name, offset, static_cast<std::uint32_t>(v.size)});
            parameters_[v.name] = {space::parameter, offset, true};
        }
    }

    void decode_item(const ptx::item& i)
    {
        using kind = ptx::item_kind;
        switch (i.kind) {
        case kind::open_scope:
            current_.push_back(scopes_.size());
            scopes_.emplace_back();
            break;
        case kind::close_scope: current_.pop_back(); break;
        case kind::label: scopes_[current_.back()].labels[i.label] = f_.code.size(); break;
        case kind::branch_targets: target_lists_[i.label] = i.targets; break;
        case kind::registers: declare(i.registers); break;
        case kind::variable: declare(i); break;
        case kind::instruction: decode_instruction(i.instruction); break;
        }
    }

    void declare(const ptx::registers& r)
    {
        const type t = type_named(r.type);
        if (t == type::none) { throw unsupported("registers of type " + r.type); }
        auto& names = scopes_[current_.back()].registers;
        if (r.count == 0) { names[r.name] = rows_.add_register(t); }
        for (std::uint32_t n = 0; n < r.count; ++n) { names[r.name + std::to_string(n)] = rows_.add_register(t); }
    }

    void declare(const ptx::item& i)
    {
        const ptx::variable& v = i.variable;
        place p{v.space, 0, false};
        if (v.space == space::shared) {
            p.offset = shared_.at(&i);
        } else if (v.space == space::local) {
            f_.local_bytes = align_up(f_.local_bytes, std::max(v.align, 1u));
            p.offset = f_.local_bytes;
            f_.local_bytes += static_cast<std::uint32_t>(v.size);
        } else if (v.space == space::parameter) {
            p.offset = take_frame(v, f_.frame_bytes);
            p.of_frame = true;
        } else {
            throw unsupported("a variable of this state space in a function: " + v.name);
        }
        scopes_[current_.back()].variables[v.name] = p;
    }

    void decode_instruction(const ptx::statement& s)
    {
        instruction& i = f_.code.emplace_back();
        i.source = &s;
        i.index = static_cast<std::uint32_t>(f_.code.size() - 1);
        binding b(s, i, *this);
        if (!s.guard.empty()) {
            const auto guard = find_register(s.guard);
            if (!guard || guard->width != 0) { b.refuse("the guard is not a predicate"); }
            i.guard = guard->offset;
            i.guard_negated = s.guard_negated;
        }
        const binder bind = find_binder(s.opcode);
        if (bind == nullptr) { b.refuse("opcode " + s.opcode + " is not implemented"); }
        bind(b);
        b.finish();
        if (i.execute == nullptr) { b.refuse("not implemented"); }
        store_arguments(i, b.args());
    }

    void store_arguments(instruction& i, const std::vector<operand>& args)
    {
        auto& kept = f_.operands.emplace_back(std::make_unique<operand[]>(args.size() + 1));
        std::copy(args.begin(), args.end(), kept.get());
        i.args = kept.get();
        i.n_args = static_cast<std::uint8_t>(args.size());
    }

    // A body may end in a label or a trap: the code must not run on.
    void append_return()
    {
        return_.opcode = "ret";
        return_.text = "ret";
        decode_instruction(return_);
        auto kept = std::make_shared<ptx::statement>(return_);
        f_.code.back().source = kept.get();
        f_.end = kept;
    }

    void finish()
    {
        for (const branch& b : branches_) {
            const instruction* target = nullptr;
            for (std::size_t i = b.scopes.size(); i-- > 0 && target == nullptr;) {
                const auto at = scopes_[b.scopes[i]].labels.find(b.label);
                if (at != scopes_[b.scopes[i]].labels.end()) { target = &f_.code[at->second]; }
            }
            if (target == nullptr) { throw unsupported("unknown label " + b.label); }
            instruction& i = f_.code[b.instruction];
            if (i.variant == 1) {  // an indexed branch has several targets, in the order of its list
                f_.tables[i.index].push_back(target);
            } else {
                i.target = target;
            }
        }
        f_.register_bytes = align_up(f_.register_bytes, 64);
    }

    function& f_;
    module_image& owner_;
    row_layout rows_;
    std::vector<scope_names> scopes_;
    std::vector<std::size_t> current_;  ///< the open scopes, outermost first
    std::unordered_map<std::string, place> parameters_;
    std::unordered_map<const ptx::item*, std::uint32_t> shared_;
    std::unordered_map<std::string, std::vector<std::string>> target_lists_;
    std::vector<branch> branches_;
    ptx::statement return_;
};

}  // namespace

void decode(function& f, module_image& owner) { function_decoder(f, owner).run(); }

}  // namespace emulator
