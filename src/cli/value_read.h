// Plain C++ out of the library's values.
#pragma once
#include <string>
#include <vector>

#include "handle.h"

namespace opd::cli {

std::string string_of(const opd_value &value);                  // a string value's text
std::vector<std::string> strings_of(const opd_array *strings);  // an array of strings
std::string describe_value(const opd_value &value);             // as the library writes values for people
std::string dtype_name(DLDataType dtype);
std::string device_name(DLDevice device);

}  // namespace opd::cli
