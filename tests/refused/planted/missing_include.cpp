// Planted: the case includes a file that does not exist.
#include "positive.hpp"

#if defined(CASE_negative)
// refused negative: .
#include "no_such_file.hpp"
#endif
