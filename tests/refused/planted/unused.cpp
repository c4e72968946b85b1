// Planted: a description without a case.
#include "positive.hpp"

#if defined(CASE_negative)
// refused negative: N must be above 0
// refused zero: N must be above 0
positive<-1> x;
#endif
