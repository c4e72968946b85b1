// Planted: the error is the right one, but far too many follow.
#include "positive.hpp"

#if defined(CASE_negative)
// refused negative: N must be above 0
positive<-1> a;
positive<-2> b;
positive<-3> c;
positive<-4> d;
positive<-5> e;
#endif
