#include "vm/kv/kv_kernels.h"

#include "vm/observe.h"
#include "vm/vm.h"

namespace opd {
namespace {

constexpr size_t kFirst = 13;  // index of the first kernel among the arguments of create

Ref<Function> kernel_of(const View &v, size_t number) {
  if (v.type == OPD_NONE) return nullptr;
  return lasting_function(as<Function>(v, concat("argument ", number)));
}

// Reads an empty array, or an array with the kind of the kernels and the kernels.
Ref<Function> tagged_kernel(const View &v, size_t number) {
  const auto &items = as<Array>(v, concat("argument ", number));
  if (items.size() == 0) return nullptr;
  const auto kind = as_text(items.items()[0], concat("the kind of the kernels of argument ", number));
  if (kind != "tirx" && kind != "tir")
    fail(OPD_UNSUPPORTED, "argument ", number, " brings kernels of the kind \"", kind,
         "\", but only those that TVM compiles, \"tirx\" and \"tir\", are offered");
  require(items.size() == 2, "argument ", number, " must be a kind and a kernel, but has ", items.size(), " items");
  return kernel_of(items.items()[1], number);
}

}  // namespace

KvKernels::KvKernels(Args args) {
  append = kernel_of(args[0], kFirst);
  append_mla = kernel_of(args[1], kFirst + 1);
  Ref<Function> *const tagged[] = {&ragged,        &prefill,      &decode,      &prefill_window,
                                   &decode_window, &prefill_tree, &ragged_tree, &mla};
  for (size_t i = 0; i < std::size(tagged); ++i) *tagged[i] = tagged_kernel(args[2 + i], kFirst + 2 + i);
  const auto &merges = as<Array>(args[10], concat("argument ", kFirst + 10));
  require(merges.size() >= 1, "argument ", kFirst + 10, " must hold the kernel that merges attention, but is empty");
  merge = kernel_of(merges.items()[0], kFirst + 10);
  if (merges.size() > 1) merge_mla = kernel_of(merges.items()[1], kFirst + 10);
  Ref<Function> *const others[] = {&split_rotary, &copy_page, &debug_get, &compact};
  for (size_t i = 0; i < std::size(others); ++i) *others[i] = kernel_of(args[11 + i], kFirst + 11 + i);
}

std::vector<Value> KvKernels::arguments() const {
  const auto array = [](const std::vector<Value> &items) { return Array::make(views_of(items)); };
  std::vector<Value> args{append, append_mla};
  for (const auto &kernel : {ragged, prefill, decode, prefill_window, decode_window, prefill_tree, ragged_tree, mla})
    args.emplace_back(kernel ? array({std::string("tirx"), kernel}) : array({}));
  args.emplace_back(merge_mla ? array({merge, merge_mla}) : array({merge}));
  for (const auto &kernel : {split_rotary, copy_page, debug_get, compact}) args.emplace_back(kernel);
  return args;
}

void run_kernel(const Ref<Function> &kernel, const char *what, Args args) {
  if (!kernel) fail(OPD_UNSUPPORTED, "the program passed its cache no kernel for ", what);
  call_inner_kernel(*kernel, args);
}

// A kernel checks the number of its arguments first, so a refused call has changed nothing.
void KvKernels::run_tree(Ref<Function> &function, Ref<Function> &other, const char *what, Args args) {
  if (is_order_known_ || !function || !other) return run_kernel(function, what, args);
  try {
    call_inner_kernel(*function, args);
  } catch (const Exception &) {
    const std::exception_ptr failure = std::current_exception();
    try {
      call_inner_kernel(*other, args);
    } catch (const Exception &) { std::rethrow_exception(failure); }
    std::swap(function, other);
  }
  is_order_known_ = true;
}

}  // namespace opd
