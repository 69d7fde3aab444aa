#include "support/sanitizers.h"

namespace opdyno_test {

#ifdef OPDYNO_ADDRESS_SANITIZER
bool has_address_sanitizer() { return true; }
#else
bool has_address_sanitizer() { return false; }
#endif

#ifdef OPDYNO_THREAD_SANITIZER
bool has_thread_sanitizer() { return true; }
#else
bool has_thread_sanitizer() { return false; }
#endif

}  // namespace opdyno_test
