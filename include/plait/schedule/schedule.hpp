// All transformations.
#pragma once

#include <plait/schedule/as_slice.hpp>
#include <plait/schedule/explore.hpp>
#include <plait/schedule/fuse.hpp>
#include <plait/schedule/reorder.hpp>
#include <plait/schedule/split.hpp>
