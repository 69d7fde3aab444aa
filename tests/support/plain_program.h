// A program of one function, which returns its argument, and captures of its calls.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "program/builder.h"
#include "replay/captured_call.h"

namespace opdyno_test {

inline std::string program() {
  opd::Builder builder;
  builder.begin_function("main", {"x"});
  builder.emit_ret(0);
  builder.end_function();
  return builder.get()->write();
}

// A capture of these blocks.
inline std::string file_of(const std::vector<std::pair<opd::BlockKind, std::string>> &blocks) {
  std::string file = opd::capture_header();
  uint32_t number = 0;
  for (const auto &[kind, content] : blocks) {
    const opd::BlockHead head = opd::head_of(kind, number++, content);
    file.append(reinterpret_cast<const char *>(&head), sizeof head);
    file += content;
  }
  return file;
}

}  // namespace opdyno_test
