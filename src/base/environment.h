// Settings in environment variables.
#pragma once
#include <cstddef>

namespace opd {

// The bytes that a variable gives in MiB. If it is not set, `usual` MiB; if it is no number, 0, since the usual is not
// wanted.
size_t bytes_from_environment(const char *name, size_t usual);

}  // namespace opd
