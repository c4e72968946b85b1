// How the demo says no: one line for the user and an exit status.
#pragma once

#include <stdexcept>
#include <string>

namespace demo {

/// Thrown for what the user can mend: `what()` is one line without the program's name.
class failure : public std::runtime_error {
  public:
    failure(int exit_status, const std::string& what) : std::runtime_error(what), status(exit_status) {}

    int status;
};

/// The command line is wrong.
inline failure usage_failure(const std::string& what) { return {2, what}; }

/// A file cannot be used.
inline failure file_failure(const std::string& what) { return {1, what}; }

}  // namespace demo
