// Plain C++ out of the library's values.
#include "value_read.h"

#include "failure.h"

namespace opd::cli {

std::string string_of(const opd_value &value) {
  const char *data = nullptr;
  size_t size = 0;
  check(opd_string_get(&value, &data, &size), Exit::failed);
  return {data, size};
}

std::vector<std::string> strings_of(const opd_array *strings) {
  std::vector<std::string> out(opd_array_count(strings));
  for (size_t i = 0; i < out.size(); ++i) {
    Value item;
    check(opd_array_get(strings, i, item.out()), Exit::failed);
    out[i] = string_of(item.view());
  }
  return out;
}

std::string describe_value(const opd_value &value) { return opdyno::text_of(opd_value_to_string, &value); }
std::string dtype_name(DLDataType dtype) { return opdyno::text_of(opd_dtype_to_string, dtype); }
std::string device_name(DLDevice device) { return opdyno::text_of(opd_device_to_string, device); }

}  // namespace opd::cli
