// A loaded module: its syntax, its functions as they are decoded on first use, and its variables on each device.
#pragma once

#include "program.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

/// Addresses of functions lie here: base plus the function's number.
inline constexpr std::uint64_t code_window = 0x00ff'0000'0000'0000;

struct module_image {
    explicit module_image(const std::string& text);

    ptx::module syntax;
    std::map<std::string, std::unique_ptr<function>> functions;
    std::vector<const function*> by_number;
    std::map<std::string, std::uint32_t> shared_offsets;  ///< of the module's shared variables; dynamic ones end them
    std::uint32_t shared_bytes = 0;
    std::string dynamic_shared;  ///< name of `.extern .shared`

    /// Decodes it if that has not happened. Null when the module has no such function with a body.
    const function* find(const std::string& name);
    const ptx::variable* find_variable(const std::string& name) const;
    std::uint64_t function_address(const std::string& name);
    const function* function_at(std::uint64_t address) const;

    /// Addresses of variables on each device; the runtime fills them in.
    std::map<int, std::map<std::string, std::uint64_t>> addresses;
    /// The function's constants with the addresses of a device.
    const std::uint8_t* constants(const function& f, int device);

  private:
    std::map<std::pair<const function*, int>, std::vector<std::uint8_t>> constants_;
};

/// Turns the syntax of a function into code.
void decode(function& f, module_image& owner);

}  // namespace emulator
