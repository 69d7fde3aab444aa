// The sanitizer of the library that this program is linked with. Tests ask at run time, because the objects of one that
// only uses the C API are compiled once and linked with the libraries of several builds.
#pragma once
#include <algorithm>
#include <cstdlib>

namespace opdyno_test {

bool has_address_sanitizer();
bool has_thread_sanitizer();
inline bool has_sanitizer() { return has_address_sanitizer() || has_thread_sanitizer(); }

// How many of its rounds a test makes. With a sanitizer each takes many times as long, so it makes a fifth of them;
// OPDYNO_TEST_FULL=1 makes all.
inline int rounds(int all) { return has_sanitizer() && !std::getenv("OPDYNO_TEST_FULL") ? std::max(all / 5, 1) : all; }

}  // namespace opdyno_test
