// Programs, schedules and what runs them on devices: plait/cuda.cuh without the host target and without pictures, in less time
// to compile. For sources that nvcc compiles.
#pragma once

#include <plait/blocks/pipeline.hpp>
#include <plait/blocks/sequence_parallel.hpp>
#include <plait/fabric/cuda_peers.cuh>
#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>
#include <plait/schedule/schedule.hpp>
#include <plait/target/cuda/runner.cuh>
