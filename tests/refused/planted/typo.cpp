// Planted: the case is refused because of a misspelt name.
#include "positive.hpp"

#if defined(CASE_negative)
// refused negative: N must be above 0
positve<-1> x;
#endif
