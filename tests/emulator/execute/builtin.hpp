// Functions that kernels call and the device runtime provides: printf, assert, malloc, free.
#pragma once

#include "context.hpp"

#include <span>
#include <string_view>

namespace emulator {

struct builtin_function {
    std::string_view name;
    void (*run)(context&, const instruction&);
};

std::span<const builtin_function> builtins();

}  // namespace emulator
