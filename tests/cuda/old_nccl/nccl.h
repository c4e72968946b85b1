// Stands for NCCL 2.27.
#pragma once

#define NCCL_MAJOR 2
#define NCCL_MINOR 27
#define NCCL_VERSION(X, Y, Z) ((X) * 10000 + (Y) * 100 + (Z))
#define NCCL_VERSION_CODE NCCL_VERSION(2, 27, 0)
