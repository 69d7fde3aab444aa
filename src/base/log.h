// Passes warnings to the embedder's callback. Without one they are dropped, except those about environment variables.
#pragma once
#include <opdyno/base.h>

#include "base/text.h"

namespace opd {

void set_log_callback(opd_log_fn callback, void *user_data, opd_deleter deleter);
void log_message(opd_log_level level, const std::string &message) noexcept;
// Logs a warning about an environment variable. Its user may not know the program's log, so without a callback the
// warning goes to standard error. While the library is loaded, the program cannot have set a callback yet, so the
// warning is kept until the program sets one or calls tell_kept_warnings(). The same text is logged once.
void log_variable_warning(std::string message) noexcept;
// Called when the program begins to use the library. Cost after the first call: one load.
void tell_kept_warnings() noexcept;

template <class... Parts>
void log_warning(const Parts &...parts) {
  log_message(OPD_LOG_WARNING, concat(parts...));
}

}  // namespace opd
