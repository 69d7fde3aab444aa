#include "tvmffi/process_functions.h"

#include <mutex>

#include "value/function.h"
#include "value/type_table.h"

namespace opd {
namespace {

Value list_names(Args) {
  // Returns the number of names for -1, and one name for any other index.
  return make_function([names = function_names()](Args args) -> Value {
    check_arity(args, {"index"}, "the list of functions");
    const int64_t i = as_int(args[0], "the index");
    if (i < 0) return static_cast<int64_t>(names.size());
    if (static_cast<size_t>(i) >= names.size()) fail(OPD_OUT_OF_RANGE, "function ", i, " of ", names.size());
    return names[static_cast<size_t>(i)];
  });
}

Value remove(Args args) {
  check_arity(args, {"name"}, "ffi.FunctionRemoveGlobal");
  const std::string_view name = as_text(args[0], "name");
  if (!find_function(name)) return false;
  remove_function(name);
  return true;
}

Value metadata(Args args) {
  check_arity(args, {"name"}, "ffi.GetGlobalFuncMetadata");
  return function_metadata(as_text(args[0], "name"));
}

Value keys(Args) {
  std::vector<Value> keys;
  for (const std::string &key : type_keys()) keys.emplace_back(key);
  return Array::make({&keys.front().view(), keys.size()});
}

}  // namespace

void define_process_functions() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_function("ffi.FunctionListGlobalNamesFunctor", make_function(list_names), true);
    register_function("ffi.FunctionRemoveGlobal", make_function(remove), true);
    register_function("ffi.GetGlobalFuncMetadata", make_function(metadata), true);
    register_function("ffi.GetRegisteredTypeKeys", make_function(keys), true);
    define_module_functions();
  });
}

}  // namespace opd
