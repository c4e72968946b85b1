// Without NCCL, or with one that is too old, the header is empty.
#include <plait/fabric/nccl.cuh>
#include <plait/fabric/nccl_multicast.cuh>

#if defined(PLAIT_HAS_NCCL)
#error "NCCL was found where there is none that will do"
#endif
