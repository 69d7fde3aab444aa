// getrandom() of these tests: as the test says.
#pragma once
#include <sys/types.h>

#include <functional>

namespace opd {

// In place of the system's; empty: the system's. Gives the errno as a negative number.
inline std::function<ssize_t(void *to, size_t size, unsigned flags)> at_getrandom;
ssize_t random_of_the_system(void *to, size_t size, unsigned flags);

}  // namespace opd
