// Whether a sanitizer or an emulated device is at work, which take their time: fewer sizes do. (Sanitizers look at memory and
// threads, not at results.)
#pragma once

#define PLAIT_SLOW 0
#if defined(PLAIT_TEST_CUDA) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef PLAIT_SLOW
#define PLAIT_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef PLAIT_SLOW
#define PLAIT_SLOW 1
#endif
#endif

inline constexpr bool runs_slowly = PLAIT_SLOW != 0;
