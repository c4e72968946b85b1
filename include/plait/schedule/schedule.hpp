// All transformations.
#pragma once

#include <plait/graph/rules.hpp>  // first: a compile error about a rule then lists few includes

#include <plait/schedule/as_slice.hpp>
#include <plait/schedule/fuse.hpp>
#include <plait/schedule/overlap.hpp>
#include <plait/schedule/reorder.hpp>
#include <plait/schedule/split.hpp>
