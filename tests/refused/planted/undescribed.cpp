// Planted: a case without a description.
#include "positive.hpp"

#if defined(CASE_negative)
// refused negative: N must be above 0
positive<-1> x;
#elif defined(CASE_zero)
positive<0> x;
#endif
