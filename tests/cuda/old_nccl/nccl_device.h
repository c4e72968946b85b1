// Stands for a header that NCCL 2.27 does not have: the version decides.
