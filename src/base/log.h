// Passes warnings to the embedder's callback. Without one they are dropped.
#pragma once
#include <opdyno/base.h>

#include "base/text.h"

namespace opd {

void set_log_callback(opd_log_fn callback, void *user_data, opd_deleter deleter);
void log_message(opd_log_level level, const std::string &message) noexcept;
// Logs a warning while the library is loaded, before the program could set a callback. The first callback gets it.
void log_load_warning(std::string message);

template <class... Parts>
void log_warning(const Parts &...parts) {
  log_message(OPD_LOG_WARNING, concat(parts...));
}

}  // namespace opd
