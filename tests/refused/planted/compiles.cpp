// Planted: the case compiles.
#include "positive.hpp"

#if defined(CASE_positive)
// refused positive: N must be above 0
positive<1> x;
#endif
