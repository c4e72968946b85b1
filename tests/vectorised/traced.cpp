// A program that is run, and with TRACED recorded, too: same_kernels.sh compares the kernels' code.
#include <plait/fabric/threads.hpp>
#include <plait/optim/adam.hpp>
#include <plait/run/executable.hpp>

#include <span>

void step(plait::thread_communicator& comm, std::span<const plait::binding> bindings)
{
    plait::executable run{plait::optim::adam<>::fused, comm};
#if defined(TRACED)
    plait::trace t;
    run.set_trace(&t);
#endif
    run.run(bindings);
}
