#include "call/native_function.h"

#include <algorithm>

#include "base/few_or_many.h"
#include "call/prepared_call.h"

namespace opd {
namespace {

struct alignas(16) Unit {
  char bytes[16];
};

size_t align_up(size_t offset) {
  return (offset + 15) / 16 * 16;
}  // 16 is the greatest alignment that a signature can require

// Returns the bytes to reserve for a value: at least a register, because libffi widens small results.
size_t room_for(const CLayout &layout) { return align_up(std::max(layout.ffi->size, sizeof(ffi_arg))); }

struct NativeFunction final : Function {
  void *pointer;
  std::string name;
  PreparedCall plan;
  Ref<Object> keep_alive;
  size_t fixed_bytes = 0;  // result, arguments, texts

  NativeFunction(void *p, const Signature &signature, std::string n, Ref<Object> k)
      : Function(&run), pointer(p), name(std::move(n)), plan(signature), keep_alive(std::move(k)) {
    fixed_bytes = room_for(plan.result());
    for (const auto &argument : plan.arguments())
      fixed_bytes += room_for(*argument) + align_up(text_count(*argument) * kShortText);
  }

  static int run(void *self, const View *args, int32_t num_args, View *result) {
    // libffi has unwind tables, so exceptions of C++ functions are also caught here.
    return raising([&] {
      *result = static_cast<NativeFunction *>(self)->invoke(Args(args, static_cast<size_t>(num_args))).detach();
    });
  }

  Value invoke(Args args) {
    const size_t fixed = plan.arguments().size();
    if (args.size() != fixed && !(plan.is_variadic() && args.size() > fixed)) fail_arity(args.size());
    const size_t further = args.size() - fixed;
    FewOrMany<void *, 16> pointers(args.size());
    FewOrMany<Unit, 32> memory((fixed_bytes + further * (16 + align_up(kShortText))) / sizeof(Unit));
    char *result = memory.data()->bytes, *next = result + room_for(plan.result());
    const auto add = [&](const CLayout &layout, size_t i) {
      char *texts = next + room_for(layout);
      pointers.data()[i] = next;
      store(layout, args[i], next, texts, {name, i});
      next += room_for(layout) + align_up(text_count(layout) * kShortText);
    };
    for (size_t i = 0; i < fixed; ++i) add(*plan.arguments()[i], i);
    if (!plan.is_variadic()) {
      ffi_call(&plan.cif(), FFI_FN(pointer), result, pointers.data());
    } else {
      call_variadic(args, add, result, pointers.data());
    }
    return load(plan.result(), result, false, {name, 0, nullptr, true});
  }

  template <class Add>
  void call_variadic(Args args, Add add, char *result, void **pointers) {
    std::vector<const CLayout *> further;
    for (size_t i = plan.arguments().size(); i < args.size(); ++i) {
      further.push_back(&variadic_layout(args[i], {name, i}));
      add(*further.back(), i);
    }
    std::vector<ffi_type *> types;
    ffi_cif cif;
    plan.prepare_variadic(std::move(further), types, cif);
    ffi_call(&cif, FFI_FN(pointer), result, pointers);
  }

  [[noreturn]] void fail_arity(size_t given) const {
    const size_t fixed = plan.arguments().size();
    fail_as("TypeError", OPD_INVALID_ARGUMENT, name, " takes ", plan.is_variadic() ? "at least " : "",
            counted(fixed, "argument"), ", but was given ", given);
  }
};

}  // namespace

Ref<Function> make_native_function(void *pointer, std::string_view signature, std::string name,
                                   Ref<Object> keep_alive) {
  require(pointer, "the C function ", name, " must not be NULL");
  const Signature parsed = parse_signature(signature);
  require(!contains(parsed.result, CKind::kTensor), "the signature \"", signature,
          "\" cannot have a tensor in its result, for nothing would own it; use ptr");
  return make_object<NativeFunction>(pointer, parsed, std::move(name), std::move(keep_alive));
}

}  // namespace opd
