// Planted: the case breaks the rule only after another mistake.
#include "positive.hpp"

#if defined(CASE_negative)
// refused negative: N must be above 0
int mistake = "text";
positive<-1> x;
#endif
