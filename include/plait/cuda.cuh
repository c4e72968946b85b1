// All of plait, with the CUDA target and its fabrics. For sources that nvcc compiles.
#pragma once

#include <plait/cuda_run.cuh>
#include <plait/plait.hpp>
