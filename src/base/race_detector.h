// OPD_RACE_DETECTOR is defined if the build is for ThreadSanitizer.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define OPD_RACE_DETECTOR
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OPD_RACE_DETECTOR
#endif
#endif
