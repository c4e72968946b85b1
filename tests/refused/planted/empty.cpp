// Planted: no case at all.
#include "positive.hpp"
