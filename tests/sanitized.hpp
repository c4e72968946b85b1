// Whether a sanitizer is at work. It looks at memory and threads, not at results, and takes its time: fewer sizes do.
#pragma once

#define PLAIT_SANITIZED 0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef PLAIT_SANITIZED
#define PLAIT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef PLAIT_SANITIZED
#define PLAIT_SANITIZED 1
#endif
#endif

inline constexpr bool is_sanitized = PLAIT_SANITIZED != 0;
