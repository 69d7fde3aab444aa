#include "base/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/log.h"
#include "base/text.h"

namespace opd {

namespace {

// The library's own variables, for suggestions.
constexpr std::string_view kVariables[] = {
    "OPDYNO_BACKTRACE",        "OPDYNO_CACHE_DIR",   "OPDYNO_CONTROL",         "OPDYNO_KEPT_LIBRARIES_MB",
    "OPDYNO_KEPT_PROGRAMS_MB", "OPDYNO_NUM_THREADS", "OPDYNO_OPENCL_BINARIES", "OPDYNO_RECORD_LAST",
    "OPDYNO_RPC_CHECKSUMS",    "OPDYNO_SYSTEM_ROOT", "OPDYNO_TELEMETRY"};

}  // namespace

void check_environment() noexcept try {
  for (char **at = environ; at && *at; ++at) {
    const std::string_view entry = *at, name = entry.substr(0, entry.find('='));
    const std::string_view value = entry.substr(std::min(name.size() + 1, entry.size()));
    if (!name.starts_with("OPDYNO_")) continue;
    if (std::ranges::find(kVariables, name) == std::end(kVariables)) {
      // Programs may have variables of their own, so only similar names are taken for mistakes.
      if (const std::string meant = suggestion(name, kVariables, 3); !meant.empty())
        log_variable_warning(concat("the environment variable ", name, " is not read.", meant));
    } else if (name.ends_with("_MB") && !number_in<size_t>(value)) {
      log_variable_warning(concat(name, " is \"", value, "\", which is not a number of MiB; 0 is used"));
    }
  }
} catch (const std::bad_alloc &) {}  // the warnings are lost

size_t bytes_from_environment(const char *name, size_t usual) {
  const char *text = std::getenv(name);
  const size_t mebibytes = text ? number_in<size_t>(text).value_or(0) : usual;
  return std::min(mebibytes, SIZE_MAX >> 20) << 20;
}

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string temporary_directory() {
  const std::string directory = environment("TMPDIR");
  return directory.empty() ? "/tmp" : directory;
}

}  // namespace opd
