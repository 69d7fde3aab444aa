// Functions that raise errors, which go to the calling thread's error slot.
#include "base/thread_state.h"
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"

namespace opd {
namespace {

// Makes an error that compiled code raises. Its kind and message stay unchanged.
Ref<Error> raised_error(const char *kind, std::string_view message) {
  return make_error(OPD_CALL_FAILED, message, kind && *kind ? kind : "RuntimeError");
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
  raising([&] { set_raised(Ref<Error>::share(&object_at<Error>(error, "TVMFFIErrorSetRaised"))); });
}

static void TVMFFIErrorMoveFromRaised(void **out_error) {
  if (out_error) *out_error = std::exchange(thread_state().raised, nullptr);
}

static int TVMFFIErrorCreateWithCauseAndExtraContext(const ByteArray *kind, const ByteArray *message,
                                                     const ByteArray *backtrace, void *cause, void *extra_context,
                                                     void **out_error) {
  return raising([&] {
    constexpr const char *function = "TVMFFIErrorCreate";
    require(out_error, function, " was given no place for the error");
    const std::string name(text_of(kind, function));
    auto error = raised_error(name.c_str(), text_of(message, function));
    if (backtrace && backtrace->size) error->set_backtrace(text_of(backtrace, function), false);
    if (cause) error->set_cause(Ref<Error>::share(&object_at<Error>(cause, function)));
    error->extra_context = static_cast<Object *>(extra_context);
    if (extra_context) retain(error->extra_context);
    *out_error = static_cast<Object *>(error.detach());
  });
}

static int TVMFFIErrorCreate(const ByteArray *kind, const ByteArray *message, const ByteArray *backtrace,
                             void **out_error) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace, nullptr, nullptr, out_error);
}

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wexit-time-destructors"  // they are destroyed when their thread ends
#endif

// Formats a backtrace line for a place in foreign C++. The line is valid until the thread's next call.
static const ByteArray *TVMFFIBacktrace(const char *file, int line, const char *function, int) {
  static thread_local std::string text;
  static thread_local ByteArray bytes;
  raising([&] {
    text.clear();
    if (file && function) text = concat("  File \"", file, "\", line ", line, ", in ", function, "\n");
  });
  bytes = bytes_of(text);
  return &bytes;
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
      {"TVMFFIErrorCreateWithCauseAndExtraContext", address_of(TVMFFIErrorCreateWithCauseAndExtraContext)},
      {"TVMFFIBacktrace", address_of(TVMFFIBacktrace)},
  };
  return symbols;
}

}  // namespace opd
