// A program of one function, which returns its argument.
#pragma once
#include <string>

#include "program/builder.h"

namespace opdyno_test {

inline std::string program() {
  opd::Builder builder;
  builder.begin_function("main", {"x"});
  builder.emit_ret(0);
  builder.end_function();
  return builder.get()->write();
}

}  // namespace opdyno_test
