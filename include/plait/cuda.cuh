// All of plait, with the CUDA target and its fabrics. For sources that nvcc compiles.
#pragma once

#include <plait/fabric/cuda_peers.cuh>
#include <plait/plait.hpp>
#include <plait/target/cuda/runner.cuh>
