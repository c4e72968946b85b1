// What a measurement holds for: the fabric and the device.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace plait::detail {

/// The processor's name, as Linux tells it.
inline std::string processor_name()
{
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("model name")) { continue; }
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) { return line.substr(colon + 2); }
    }
    return "unknown processor";
}

/// What the communicator says, or that it says nothing.
template <class Communicator>
std::string fabric_name(Communicator& comm)
{
    if constexpr (requires { comm.fabric_name(); }) {
        return comm.fabric_name();
    } else {
        return "unnamed fabric";
    }
}
template <class Communicator>
std::string device_name(Communicator& comm)
{
    if constexpr (requires { comm.device_name(); }) {
        return comm.device_name();
    } else {
        return processor_name();
    }
}

}  // namespace plait::detail
