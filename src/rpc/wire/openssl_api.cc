#include "rpc/wire/openssl_api.h"

#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/fork_mutex.h"

namespace opd::openssl {
namespace {

void *allocate(size_t size, const char *, int) { return size ? std::malloc(size) : nullptr; }
void wipe_and_free(void *block, const char *, int) {
  if (block) ::explicit_bzero(block, ::malloc_usable_size(block));
  std::free(block);
}
void *reallocate(void *block, size_t size, const char *file, int line) {
  void *const made = allocate(size, file, line);
  if (size && !made) return nullptr;
  if (block && made) std::memcpy(made, block, std::min(size, ::malloc_usable_size(block)));
  wipe_and_free(block, file, line);
  return made;
}

}  // namespace

void Api::open() {
  const LoaderCall call;
  const DriverLibrary library{"libssl.so.3", absence, ::dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL)};
  if (!library.handle) {
    const char *const why = ::dlerror();
    absence =
        concat("libssl.so.3, OpenSSL's library, cannot be loaded (Debian: libssl3): ", why ? why : "unknown error");
  }
  // dlsym() also finds functions of libcrypto, on which libssl depends.
#define OPD_FIND(name) library.require(name, #name);
  OPD_OPENSSL_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
  constexpr unsigned kVersion = 3;
  if (absence.empty() && OPENSSL_version_major() != kVersion)
    absence = concat("libssl.so.3 is of OpenSSL ", OPENSSL_version_major());
}

const Api &api() {
  const Api &found = Api::get();
  if (!found.absence.empty()) fail(OPD_UNSUPPORTED, "TLS is not available: ", found.absence);
  return found;
}

void wipe_freed_memory() {
  static const int is_set = api().CRYPTO_set_mem_functions(allocate, reallocate, wipe_and_free);
  static_cast<void>(is_set);
}

const char *reason() {
  const Api &ssl = Api::get();
  const unsigned long code = ssl.ERR_get_error();
  const char *const text = code ? ssl.ERR_reason_error_string(code) : nullptr;
  ssl.ERR_clear_error();
  return text ? text : "unknown error";
}

}  // namespace opd::openssl
