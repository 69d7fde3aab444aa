#include "device/driver.h"

#include <dlfcn.h>

#include "base/text.h"

namespace opd {

DriverLibrary DriverLibrary::open(const char *name, std::string &absence, const char *hint) {
  void *const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) absence = concat("there is no ", name, ", ", hint);
  return {name, absence, handle};
}

void *DriverLibrary::find(const char *symbol) const { return handle ? ::dlsym(handle, symbol) : nullptr; }

void detail::fail_without_device(const char *kind, int32_t id) {
  fail(OPD_UNSUPPORTED, "there is no device ", kind, ":", id);
}

void detail::fail_in_child(const char *kind, int32_t id) {
  fail(OPD_UNSUPPORTED, kind, ":", id,
       " cannot be used in a child of fork(): its driver was started in the parent; start it after fork()");
}

std::string detail::absence_among(const char *owner, size_t count, int32_t id) {
  return concat(owner, " ", counted(count, "device"), ", not a number ", id);
}

std::string status_text(std::span<const KnownStatus> known, int32_t status) {
  for (const KnownStatus &each : known)
    if (each.status == status) return concat(each.name, " (", status, ")");
  return concat("error ", status);
}

std::string sizes_text(const std::array<uint32_t, 3> &sizes) {
  return concat(sizes[0], " x ", sizes[1], " x ", sizes[2]);
}

}  // namespace opd
