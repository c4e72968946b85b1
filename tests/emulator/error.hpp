// What the emulator throws when it is asked for something that it does not do.
#pragma once

#include <stdexcept>
#include <string>

namespace emulator {

/// PTX or a runtime call outside what is implemented. It ends the program: guessing would hide errors.
struct unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Prints why, and ends the process at once with exit status 86; used where no exception may pass.
[[noreturn]] void stop(const std::string& why) noexcept;

}  // namespace emulator
