// A program ready to run, on the host or on the target of its communicator.
#pragma once

#include <plait/run/any_executable.hpp>
#include <plait/run/host_runner.hpp>
