// Checks the results of a plug-in's functions.
#pragma once
#include <opdyno/device_plugin.h>

#include "value/value.h"

namespace opd {

inline void check(opd_error *error) {
  if (error) [[unlikely]]
    throw Exception(Ref<Error>::take(reinterpret_cast<Error *>(error)));
}

// Returns whether a call succeeded, and drops its error.
inline bool has_succeeded(opd_error *error) noexcept {
  if (error) Ref<Error>::take(reinterpret_cast<Error *>(error));
  return !error;
}

}  // namespace opd
