// Planted: does not compile, even without a case.
#include "positive.hpp"

positive<-1> x;

#if defined(CASE_negative)
// refused negative: N must be above 0
positive<-1> y;
#endif
