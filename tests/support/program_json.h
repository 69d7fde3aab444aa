// What a program tells about itself, as JSON.
#pragma once
#include "support/opdyno_test.h"

namespace opdyno_test {

inline std::string json_of(std::string_view program) {
  return Executable::assemble(program).write(OPD_EXECUTABLE_JSON);
}

// What stands between the first `before` and the `after` that follows it.
inline std::string between(const std::string &json, const std::string &before, const std::string &after) {
  const size_t begin = json.find(before) + before.size();
  return json.substr(begin, json.find(after, begin) - begin);
}

// The result of a function with these parameters.
inline std::string result_of(const std::string &params, const std::string &body) {
  return between(json_of(".func f(" + params + ") {\n" + body + "\n}\n"), "\"result\":", ",\"registers\"");
}

}  // namespace opdyno_test
