// C function pointers that call packed functions.
// Cost of a call: libffi's frame and the conversions, about 50 ns; nothing is allocated for up to 8 arguments without
// structs.
#pragma once
#include <memory>
#include <string_view>

#include "base/fork_mutex.h"
#include "value/function.h"

namespace opd {

class PreparedCall;
struct Signature;

// Callable from any thread. Errors cannot pass through C: a call that fails returns 0, and the closure keeps the first
// error.
struct Closure final : Object {
  static int32_t type();  // "opdyno.Closure"

  Closure(Ref<Function> function, const Signature &signature);
  ~Closure();

  void *pointer() const { return code_; }
  Ref<Error> take_error();  // the first since the last take_error(), or null

 private:
  struct Free {
    void operator()(void *memory) const;
  };
  using Memory = std::unique_ptr<void, Free>;  // libffi's ffi_closure

  static Memory allocate(void **code);

  static void enter(void *cif, void *result, void **arguments, void *self) noexcept;
  void invoke(void *result, void **arguments);
  void keep_error(Ref<Error> error) noexcept;

  Ref<Function> function_;
  std::unique_ptr<PreparedCall> plan_;
  void *code_ = nullptr;
  Memory memory_;
  ForkMutex guard_{LockRank::kClosure};
  Ref<Error> error_;
};

Ref<Closure> make_closure(Ref<Function> function, std::string_view signature);

}  // namespace opd
