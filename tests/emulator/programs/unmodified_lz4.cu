// The same, with PTX that is compressed by lz4.
#include "unmodified.cu"
