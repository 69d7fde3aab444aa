#include "call/closure.h"

#include <cstring>
#include <vector>

#include "base/few_or_many.h"
#include "call/prepared_call.h"

namespace opd {
namespace {

constexpr const char *kName = "the closure";

bool is_signed(CKind kind) { return kind >= CKind::kI8 && kind <= CKind::kI64; }

// libffi reads a result from a whole register, so smaller integers are extended.
void store_result(const CLayout &layout, const View &value, char *to) {
  if (layout.kind == CKind::kVoid) return;  // C expects no result
  char *no_texts = nullptr;                 // signatures with a str in their result are refused
  const Place place{kName, 0, nullptr, true};
  if (layout.kind == CKind::kStruct || layout.ffi->size >= sizeof(ffi_arg) || layout.kind == CKind::kF32)
    return store(layout, value, to, no_texts, place);
  ffi_arg wide = 0;
  store(layout, value, reinterpret_cast<char *>(&wide), no_texts, place);
  const unsigned unused = 8 * static_cast<unsigned>(sizeof wide - layout.ffi->size);
  if (is_signed(layout.kind)) wide = static_cast<ffi_arg>(static_cast<ffi_sarg>(wide << unused) >> unused);
  std::memcpy(to, &wide, sizeof wide);
}

void clear_result(const CLayout &layout, void *to) {
  if (layout.kind == CKind::kVoid) return;
  const size_t size = layout.ffi->size;
  std::memset(to, 0, layout.kind == CKind::kStruct ? size : std::max(size, sizeof(ffi_arg)));
}

}  // namespace

void Closure::Free::operator()(void *memory) const { ffi_closure_free(memory); }

Closure::Memory Closure::allocate(void **code) {
  // The first allocation of a process initialises the lock of libffi's allocator, and no lock guards that. A second
  // thread may already hold the lock (libffi 3.4, src/dlmalloc.c, init_mparams). So one thread alone makes the first
  // allocation.
  [[maybe_unused]] static const bool initialised = [] {
    void *unused = nullptr;
    Memory first(ffi_closure_alloc(sizeof(ffi_closure), &unused));
    return true;
  }();
  return Memory(ffi_closure_alloc(sizeof(ffi_closure), code));
}

Closure::Closure(Ref<Function> function, const Signature &signature)
    : function_(std::move(function)), plan_(std::make_unique<PreparedCall>(signature)), memory_(allocate(&code_)) {
  if (!memory_)
    fail(OPD_UNSUPPORTED, "this system provides no executable memory, which C function pointers made at run time need");
  const auto enter = [](ffi_cif *, void *result, void **arguments, void *self) noexcept {
    auto &closure = *static_cast<Closure *>(self);
    try {
      closure.invoke(result, arguments);
    } catch (...) {
      clear_result(closure.plan_->result(), result);
      closure.keep_error(current_error());
    }
  };
  const ffi_status status =
      ffi_prep_closure_loc(static_cast<ffi_closure *>(memory_.get()), &plan_->cif(), enter, this, code_);
  if (status != FFI_OK)
    fail(OPD_UNSUPPORTED, "libffi cannot make such a function pointer on this machine (status ",
         static_cast<int>(status), ")");
}

Closure::~Closure() = default;

void Closure::invoke(void *result, void **arguments) {
  const auto &layouts = plan_->arguments();
  FewOrMany<Value, 8> all(layouts.size());
  const std::span<Value> values = all.get();
  for (size_t i = 0; i < layouts.size(); ++i)
    values[i] = load(*layouts[i], static_cast<const char *>(arguments[i]), true, {kName, i});
  const Value given = call(*function_, {&values.data()->view(), values.size()});
  store_result(plan_->result(), given, static_cast<char *>(result));
}

void Closure::keep_error(Ref<Error> error) noexcept {
  std::scoped_lock lock(guard_);
  if (!error_) error_ = std::move(error);
}

Ref<Error> Closure::take_error() {
  std::scoped_lock lock(guard_);
  return std::exchange(error_, nullptr);
}

Ref<Closure> make_closure(Ref<Function> function, std::string_view signature) {
  const Signature parsed = parse_signature(signature);
  const auto refuse = [&](bool found, const char *why) {
    require(!found, "the signature \"", signature, "\" cannot be one of a closure: ", why);
  };
  refuse(parsed.variadic, "its number of arguments must be fixed");
  refuse(contains(parsed.result, CKind::kStr) || contains(parsed.result, CKind::kTensor),
         "nothing would own a str or tensor in its result; use ptr");
  for (const CType &argument : parsed.arguments)
    refuse(argument.kind == CKind::kStruct && contains(argument, CKind::kTensor),
           "a tensor in a struct cannot be passed on; use ptr");
  return make_object<Closure>(std::move(function), parsed);
}

}  // namespace opd
