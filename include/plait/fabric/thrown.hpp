// The text of whatever was thrown.
#pragma once

#include <plait/core/error.hpp>

#include <exception>
#include <string>
#include <string_view>

namespace plait::detail {

/// What the exception being handled says, for quoting in another error.
inline std::string text_of_current_exception()
{
    try {
        throw;
    } catch (const error& e) {
        return std::string(e.what()).substr(std::string_view("plait: ").size());  // the quoting error says it again
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

}  // namespace plait::detail
