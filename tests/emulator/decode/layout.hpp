// Where a function's registers and constants lie in its rows.
#pragma once

#include "program.hpp"

#include <cstring>
#include <map>

namespace emulator {

class row_layout {
  public:
    explicit row_layout(function& f) : f_{f} {}

    /// A register of a type: predicates lie together, 16 to a line of 64 bytes.
    operand add_register(type t)
    {
        if (t == type::pred) {
            if (free_predicates_ == 0) {
                next_predicate_ = take(64);
                free_predicates_ = 16;
            }
            --free_predicates_;
            operand o{next_predicate_, bank::registers, 0};
            next_predicate_ += 4;
            return kept(o);
        }
        const unsigned width = size_of(t);
        f_.n_registers += width == 8 ? 2 : 1;
        return kept({take(width == 8 ? 8 * n_lanes : 4 * n_lanes), bank::registers, static_cast<std::uint8_t>(width)});
    }

    operand constant(std::uint64_t bits, unsigned width)
    {
        if (width < 8) { bits &= (std::uint64_t{1} << (8 * width)) - 1; }
        const auto [at, is_new] = constants_.try_emplace({bits, width}, 0u);
        if (is_new) {
            at->second = static_cast<std::uint32_t>(f_.constants.size());
            const unsigned slot = width == 8 ? 8 : 4;
            f_.constants.resize(f_.constants.size() + slot * n_lanes);
            for (unsigned lane = 0; lane < n_lanes; ++lane) {
                std::memcpy(&f_.constants[at->second + slot * lane], &bits, slot);
            }
        }
        return {at->second, bank::constants, static_cast<std::uint8_t>(width)};
    }

    operand symbol(const std::string& name, std::int64_t addend)
    {
        const auto [at, is_new] = symbols_.try_emplace({name, addend}, 0u);
        if (is_new) {
            at->second = static_cast<std::uint32_t>(f_.constants.size());
            f_.constants.resize(f_.constants.size() + 8 * n_lanes);
            f_.symbols.push_back({at->second, name, addend});
        }
        return {at->second, bank::constants, 8};
    }

    operand special_register(special which, unsigned width)
    {
        const auto [at, is_new] = specials_.try_emplace(which, operand{});
        if (is_new) {
            at->second = {take((width == 8 ? 8 : 4) * n_lanes), bank::registers, static_cast<std::uint8_t>(width)};
            f_.specials.push_back({which, at->second.offset});
        }
        return at->second;
    }

    /// A row that holds the address of this offset in the frame's local memory.
    operand local_address(std::uint64_t offset)
    {
        const auto [at, is_new] = locals_.try_emplace(offset, operand{});
        if (is_new) {
            at->second = {take(8 * n_lanes), bank::registers, 8};
            f_.locals.push_back({at->second.offset, offset});
        }
        return at->second;
    }

  private:
    operand kept(operand o)
    {
        f_.rows.push_back(o);
        return o;
    }

    std::uint32_t take(std::uint32_t bytes)
    {
        const std::uint32_t at = f_.register_bytes;
        f_.register_bytes += bytes;
        return at;
    }

    function& f_;
    std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> constants_;
    std::map<std::pair<std::string, std::int64_t>, std::uint32_t> symbols_;
    std::map<special, operand> specials_;
    std::map<std::uint64_t, operand> locals_;
    std::uint32_t next_predicate_ = 0;
    unsigned free_predicates_ = 0;
};

}  // namespace emulator
