// The JSON that libopdyno_tvmffi reads: values, which must come back the same from the text that is written of them,
// and graphs of objects.
#include <opdyno/opdyno.h>

#include <cstdlib>
#include <string>

extern "C" void TVMFFIGetVersion(uint32_t *out_version);  // so that the library is linked

namespace {

opd_function *global(const char *name) {
  uint32_t version[3];
  TVMFFIGetVersion(version);
  opd_function *function = nullptr;
  if (opd_function_get_global(name, &function)) std::abort();
  return function;
}

// False if it is refused.
bool call(opd_function *function, const opd_value &arg, opd_value *out) {
  opd_error *error = opd_function_call(function, &arg, 1, out);
  opd_error_release(error);
  return !error;
}

std::string text_of(const opd_value &value) {
  const char *data = nullptr;
  size_t size = 0;
  if (opd_string_get(&value, &data, &size)) std::abort();
  return {data, size};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static opd_function *const parse = global("ffi.json.Parse"), *const write = global("ffi.json.Stringify"),
                             *const decode = global("ffi.FromJSONGraphString");
  opd_value text = opd_none(), value = opd_none(), written = opd_none(), again = opd_none(), twice = opd_none(),
            object = opd_none();
  if (opd_string_create(reinterpret_cast<const char *>(data), size, &text)) std::abort();
  if (call(parse, text, &value) && call(write, value, &written)) {
    if (!call(parse, written, &again) || !call(write, again, &twice) || text_of(written) != text_of(twice))
      std::abort();
  }
  call(decode, text, &object);
  for (opd_value *made : {&text, &value, &written, &again, &twice, &object}) opd_value_release(made);
  return 0;
}
