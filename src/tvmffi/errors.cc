// Raising: the error slot of the calling thread.
#include "base/thread_state.h"
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"

namespace opd {
namespace {

// What compiled code raises is the called function's own error: its kind and message are kept as they are.
Ref<Error> raised_error(const char *kind, std::string_view message) {
  return make_error(OPD_CALL_FAILED, message, kind && *kind ? kind : "RuntimeError");
}

// An error made by C++ that was compiled with tvm-ffi's headers has only the first fields of ours.
bool is_ours(const Error &error) {
  static const auto mark = make_error(OPD_INTERNAL, "")->update_backtrace;
  return error.update_backtrace == mark;
}

Ref<Error> own_error(Error &error) {
  if (is_ours(error)) return Ref<Error>::share(&error);
  const std::string kind(error.kind_view.data, error.kind_view.size);
  return raised_error(kind.c_str(), {error.message_view.data, error.message_view.size});
}

extern "C" {

static void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  set_raised(raised_error(kind, message ? message : ""));
}

static void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t num_parts) {
  raising([&] {
    std::string message;
    for (int32_t i = 0; parts && i < num_parts; ++i)
      if (parts[i]) message += parts[i];
    set_raised(raised_error(kind, message));
  });
}

static void TVMFFIErrorSetRaised(void *error) {
  raising([&] { set_raised(own_error(object_at<Error>(error, "TVMFFIErrorSetRaised"))); });
}

static void TVMFFIErrorMoveFromRaised(void **out_error) {
  if (out_error) *out_error = std::exchange(thread_state().raised, nullptr);
}

static int TVMFFIErrorCreate(const ByteArray *kind, const ByteArray *message, const ByteArray *backtrace,
                             void **out_error) {
  return raising([&] {
    (void)backtrace;  // ours are native frames
    require(out_error, "TVMFFIErrorCreate was given no place for the error");
    const std::string name(text_of(kind, "TVMFFIErrorCreate"));
    *out_error = raised_error(name.c_str(), text_of(message, "TVMFFIErrorCreate")).detach();
  });
}

}  // extern "C"
}  // namespace

std::span<const ProvidedSymbol> error_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFIErrorSetRaisedFromCStr", address_of(TVMFFIErrorSetRaisedFromCStr)},
      {"TVMFFIErrorSetRaisedFromCStrParts", address_of(TVMFFIErrorSetRaisedFromCStrParts)},
      {"TVMFFIErrorSetRaised", address_of(TVMFFIErrorSetRaised)},
      {"TVMFFIErrorMoveFromRaised", address_of(TVMFFIErrorMoveFromRaised)},
      {"TVMFFIErrorCreate", address_of(TVMFFIErrorCreate)},
  };
  return symbols;
}

}  // namespace opd
