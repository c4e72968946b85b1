// Names for profilers: ranges of NVTX, where the toolkit has it.
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define PLAIT_HAS_NVTX 1
#endif

namespace plait::cuda {

/// While it lives, what the thread puts on streams belongs to a named range.
class named_range {
  public:
#if defined(PLAIT_HAS_NVTX)
    explicit named_range(const char* name) { nvtxRangePushA(name); }
    ~named_range() { nvtxRangePop(); }
#else
    explicit named_range(const char*) {}
#endif
    named_range(const named_range&) = delete;
    named_range& operator=(const named_range&) = delete;
};

}  // namespace plait::cuda
