// The same with the PTX of compute capability 9.0, in which NCCL's barriers have a multicast path that is not taken.
#include "programs/nccl_device.cu"
