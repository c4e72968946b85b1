// The schedules of LAMB compile for the architectures that plait is meant for, and forward as PTX.
#include <plait/cuda_run.cuh>

void build_lamb(plait::cuda_communicator& comm)
{
    using f32 = plait::optim::lamb<>;
    const plait::executable unscheduled{f32::unscheduled, comm};
    const plait::executable sliced{f32::sliced, comm};
    const plait::executable fused{f32::fused, comm};
    using mixed = plait::optim::lamb<plait::f16, plait::bf16>;
    const plait::executable mixed_fused{mixed::fused, comm};
}
