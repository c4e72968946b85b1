// The name of the CUDA target, which communicators whose ranks have devices carry.
#pragma once

namespace plait::cuda {

template <class Communicator>
class runner;

/// The passes of a plan run as kernels. (See runner.)
struct target {
    template <class Communicator>
    using runner = cuda::runner<Communicator>;
};

}  // namespace plait::cuda
