#include "value/function.h"

namespace opd {
int Callback::run(void *self, const View *args, int32_t num_args, View *result) {
  auto *callback = static_cast<Callback *>(self);
  opd_error *error = callback->body(callback->user_data, args, num_args, result);
  if (!error) [[likely]]
    return 0;
  set_raised(Ref<Error>::take(reinterpret_cast<Error *>(error)));
  return -1;
}

void fail_result(const View &result) {
  fail(OPD_CALL_FAILED, "the function returned a value of type ", type_key(result.type), " with the object NULL");
}

void check_arity(Args args, std::initializer_list<const char *> names, std::string_view function) {
  if (args.size() == names.size()) [[likely]]
    return;
  fail_as("TypeError", OPD_INVALID_ARGUMENT, function, "(", joined(names), ") takes ",
          counted(names.size(), "argument"), ", but was given ", args.size());
}

}  // namespace opd
