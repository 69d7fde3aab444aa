// C function pointers that call packed functions.
// Cost of a call: libffi's frame and the conversions, about 50 ns. Up to 8 arguments without structs allocate nothing.
#pragma once
#include <memory>
#include <string_view>

#include "base/fork_mutex.h"
#include "value/function.h"

namespace opd {

class PreparedCall;
struct Signature;

// A closure can be called from any thread. Errors cannot pass through C. So a failed call returns 0, and the closure
// keeps the first error.
struct Closure final : Object {
  static int32_t type() { return registered_type<"opdyno.Closure">(); }

  Closure(Ref<Function> function, const Signature &signature);
  ~Closure();

  void *pointer() const { return code_; }
  Ref<Error> take_error();  // returns and clears the first error since the last take_error(); null: none

 private:
  struct Free {
    void operator()(void *memory) const;
  };
  using Memory = std::unique_ptr<void, Free>;  // memory of libffi's ffi_closure

  static Memory allocate(void **code);

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
