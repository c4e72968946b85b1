// All of plait.
#pragma once

#include <plait/blocks/pipeline.hpp>
#include <plait/blocks/sequence_parallel.hpp>
#include <plait/fabric/threads.hpp>
#include <plait/optim/lamb.hpp>
#include <plait/optim/sgd.hpp>
#include <plait/plan/dot.hpp>
#include <plait/plan/traffic.hpp>
#include <plait/run/executable.hpp>
#include <plait/schedule/schedule.hpp>
#include <plait/tune/explore.hpp>
