#include "image.hpp"

#include "../error.hpp"

#include <algorithm>
#include <cstring>

namespace emulator {

module_image::module_image(const std::string& text) : syntax{ptx::parse(text)}
{
    for (const ptx::variable& v : syntax.variables) {
        if (v.space != space::shared) { continue; }
        if (v.size == 0) { continue; }
        shared_bytes = (shared_bytes + v.align - 1) / v.align * v.align;
        shared_offsets[v.name] = shared_bytes;
        shared_bytes += static_cast<std::uint32_t>(v.size);
    }
}

const function* module_image::find(const std::string& name)
{
    const auto found = functions.find(name);
    if (found != functions.end()) { return found->second.get(); }
    for (const ptx::function& f : syntax.functions) {
        if (f.name != name || !f.has_body) { continue; }
        auto& made = functions[name] = std::make_unique<function>();
        made->name = name;
        made->syntax = &f;
        made->owner = this;
        try {
            decode(*made, *this);
        } catch (const unsupported& e) {
            throw unsupported("in " + name + ": " + e.what());
        }
        return made.get();
    }
    return nullptr;
}

const ptx::variable* module_image::find_variable(const std::string& name) const
{
    const auto at =
        std::find_if(syntax.variables.begin(), syntax.variables.end(), [&](const auto& v) { return v.name == name; });
    return at == syntax.variables.end() ? nullptr : &*at;
}

std::uint64_t module_image::function_address(const std::string& name)
{
    const function* f = find(name);
    if (f == nullptr) { throw unsupported("the address of function " + name + ", which has no body"); }
    const auto at = std::find(by_number.begin(), by_number.end(), f);
    const auto number = static_cast<std::uint64_t>(at - by_number.begin());
    if (at == by_number.end()) { by_number.push_back(f); }
    return code_window + 16 * (number + 1);
}

const function* module_image::function_at(std::uint64_t address) const
{
    const std::uint64_t number = (address - code_window) / 16;
    return address % 16 == 0 && number >= 1 && number <= by_number.size() ? by_number[number - 1] : nullptr;
}

const std::uint8_t* module_image::constants(const function& f, int device)
{
    auto& bytes = constants_[{&f, device}];
    if (bytes.empty() && !f.constants.empty()) {
        bytes = f.constants;
        for (const symbol_row& row : f.symbols) {
            const auto& known = addresses[device];
            const auto at = known.find(row.symbol);
            const std::uint64_t base = at != known.end() ? at->second : function_address(row.symbol);
            const std::uint64_t value = base + static_cast<std::uint64_t>(row.addend);
            for (unsigned lane = 0; lane < n_lanes; ++lane) { std::memcpy(&bytes[row.offset + 8 * lane], &value, 8); }
        }
    }
    return bytes.data();
}

}  // namespace emulator
