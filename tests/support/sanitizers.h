// The sanitizer of the library that this program is linked with. Tests ask at run time, because the objects of one that
// only uses the C API are compiled once and linked with the libraries of several builds.
#pragma once

namespace opdyno_test {

bool has_address_sanitizer();
bool has_thread_sanitizer();
inline bool has_sanitizer() { return has_address_sanitizer() || has_thread_sanitizer(); }

}  // namespace opdyno_test
