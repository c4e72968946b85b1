// Which target the ranks of a communicator run on.
#pragma once

namespace plait::detail {

template <class Communicator>
class host_runner;

/// Its own `runner<Communicator>` where it names one, else the host, whose header is run/host_runner.hpp.
template <class Communicator>
struct runner_for {
    using type = host_runner<Communicator>;
};
template <class Communicator>
requires requires { typename Communicator::target::template runner<Communicator>; }
struct runner_for<Communicator> {
    using type = typename Communicator::target::template runner<Communicator>;
};
template <class Communicator>
using runner_t = typename runner_for<Communicator>::type;

}  // namespace plait::detail
