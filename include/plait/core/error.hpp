// The one exception type of plait's run-time errors.
#pragma once

#include <stdexcept>
#include <string>

namespace plait {

/// Thrown for every run-time error of plait. `what()` names the tensor, rank or stage concerned, the rule and the fix.
/// Rule violations known at compile time never get this far: they are compile errors (see graph/rules.hpp).
class error : public std::runtime_error {
  public:
    explicit error(const std::string& what) : std::runtime_error("plait: " + what) {}
};

}  // namespace plait
