// Settings in environment variables.
#pragma once
#include <cstddef>
#include <string>

namespace opd {

// Warns about variables without effect: misspelt names of this library's variables, and values that are not numbers.
// Called when the library is loaded. Variables with other meanings are checked where they are used.
void check_environment() noexcept;

// Returns the size in bytes that a variable gives in MiB. If the variable is not set: `usual` MiB. If it is not a
// number: 0, because the user does not want the usual size.
size_t bytes_from_environment(const char *name, size_t usual);
std::string environment(const char *name);  // "" if the variable is not set
std::string temporary_directory();          // $TMPDIR, or /tmp

}  // namespace opd
