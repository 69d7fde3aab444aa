#include "base/error.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

namespace opd {
namespace {

struct CodeNames {
  const char *name, *kind;
};
constexpr CodeNames kCodes[] = {
    {"OPD_OK", "None"},
    {"OPD_INVALID_ARGUMENT", "ValueError"},
    {"OPD_NOT_FOUND", "LookupError"},
    {"OPD_ALREADY_EXISTS", "ValueError"},
    {"OPD_OUT_OF_RANGE", "IndexError"},
    {"OPD_BAD_FORMAT", "ValueError"},
    {"OPD_UNSUPPORTED", "NotImplementedError"},
    {"OPD_OUT_OF_MEMORY", "MemoryError"},
    {"OPD_CANCELLED", "InterruptedError"},
    {"OPD_DEADLINE_EXCEEDED", "TimeoutError"},
    {"OPD_FAILED_PRECONDITION", "RuntimeError"},
    {"OPD_IO", "OSError"},
    {"OPD_CALL_FAILED", "RuntimeError"},
    {"OPD_INTERNAL", "InternalError"},
};

bool backtraces_wanted() {
  static const bool wanted = [] {
    const char *text = std::getenv("OPDYNO_BACKTRACE");
    return text && *text && std::strcmp(text, "0") != 0;
  }();
  return wanted;
}

std::string symbolise(void *address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname) return "?";
  std::string out = info.dli_fname;
  if (info.dli_sname) {
    int status = 0;
    char *plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    out += concat(" ", plain ? plain : info.dli_sname);
    std::free(plain);
  }
  return out;
}

// Preallocated, because there may be no memory for an error. Never freed.
Error *out_of_memory_error() {
  static Error *const error = [] {
    auto made = make_object<Error>(OPD_OUT_OF_MEMORY, "MemoryError", "out of memory");
    return made.detach();
  }();
  return error;
}
const bool kReserved = out_of_memory_error() != nullptr;  // allocates the error at load, while there is memory

// Foreign code calls this with mode 0 to replace the text and mode 1 to append to it.
void update_backtrace(void *self, const ByteArray *text, int32_t mode) {
  try {
    if (self && text) static_cast<Error *>(static_cast<Object *>(self))->set_backtrace(text_of(*text), mode == 1);
  } catch (const std::bad_alloc &) {}  // the trace is then shorter
}

}  // namespace

const char *code_name(opd_code code) {
  const auto index = static_cast<size_t>(code);
  return index < std::size(kCodes) ? kCodes[index].name : "OPD_INTERNAL";
}

const char *usual_kind(opd_code code) {
  const auto index = static_cast<size_t>(code);
  return index < std::size(kCodes) ? kCodes[index].kind : "InternalError";
}

Error::Error(opd_code c, std::string k, std::string m) : code(c), kind(std::move(k)), message(std::move(m)) {
  kind_view = {kind.data(), kind.size()};
  message_view = {message.data(), message.size()};
  backtrace_view = {"", 0};
  update_backtrace = opd::update_backtrace;
  if (backtraces_wanted()) {
    frames_.resize(64);
    frames_.resize(static_cast<size_t>(::backtrace(frames_.data(), static_cast<int>(frames_.size()))));
  }
}

Error::~Error() {
  if (cause) release_nested(cause);  // a chain of causes may be longer than the stack is deep
  if (extra_context) release_nested(extra_context);
}

void Error::set_cause(Ref<Error> error) {
  Object *before = std::exchange(cause, error.detach());
  if (before) release(before);
}

const std::string &Error::backtrace() const {
  std::call_once(symbolised_, [this] {
    for (void *frame : frames_) backtrace_ += symbolise(frame) + "\n";
  });
  return backtrace_;
}

void Error::set_backtrace(std::string_view text, bool append) {
  backtrace();  // converts the frames to text, which the next line changes
  append ? backtrace_.append(text) : backtrace_.assign(text);
  backtrace_view = bytes_of(backtrace_);
}

Ref<Error> as_own(Error &error) noexcept {
  auto *cause = static_cast<Error *>(error.cause);
  if (error.update_backtrace == update_backtrace) {
    if (cause)
      if (auto own = as_own(*cause); own.get() != cause) error.set_cause(std::move(own));
    return Ref<Error>::share(&error);
  }
  auto own = make_error(OPD_CALL_FAILED, text_of(error.message_view), text_of(error.kind_view));
  // Without memory, this is the preallocated error, which must not change.
  if (own->code != OPD_CALL_FAILED) return own;
  opd::update_backtrace(own.get(), &error.backtrace_view, 0);
  if (cause) own->set_cause(as_own(*cause));
  own->extra_context = error.extra_context;
  if (own->extra_context) retain(own->extra_context);
  return own;
}

Ref<Error> make_error(opd_code code, std::string_view message, std::string_view kind) noexcept {
  if (code == OPD_OK) code = OPD_INTERNAL;
  try {
    return make_object<Error>(code, std::string(kind.empty() ? usual_kind(code) : kind), std::string(message));
  } catch (...) { return Ref<Error>::share(out_of_memory_error()); }
}

void throw_error(opd_code code, std::span<const TextPart> message, std::string_view kind) {
  throw Exception(make_error(code, concat_all(message), kind));
}

Ref<Error> current_error() noexcept {
  try {
    throw;
  } catch (const Exception &e) { return e.error(); } catch (const std::bad_alloc &) {
    return Ref<Error>::share(out_of_memory_error());
  } catch (const std::exception &e) { return make_error(OPD_INTERNAL, e.what()); } catch (...) {
    return make_error(OPD_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace opd
