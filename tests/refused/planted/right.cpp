// Planted: both cases are refused as described.
#include "positive.hpp"

#if defined(CASE_negative)
// refused negative: N must be above 0; use 1
positive<-1> x;
#elif defined(CASE_zero)
// refused zero: cannot be this text, which only g\+\+ prints|N must be above 0
// everywhere zero: N must be above 0
positive<0> x;
#endif
