// What `opdyno inspect` shows: texts made of the library's description of a module tree, and findings of a check.
#pragma once
#include <string>
#include <vector>

#include "json.h"
#include "program.h"

namespace opd::cli {

// Each takes a module as opd_module_to_json() describes it, and gives whole lines.
std::string overview_text(const cJSON *module);
std::string tree_text(const cJSON *module);
std::string signatures_text(const cJSON *module);
std::string sizes_text(const cJSON *module);

// "library  model.so": kind and file.
std::string module_name(const cJSON *module);
// "main(x: float32[n, 784]) -> float32[n, 10]": as much as is known.
std::string signature_text(const cJSON *function);
// A number, text or list of plain ones on one line; other things as JSON.
std::string plain_text(const cJSON *item);
int64_t json_number(const cJSON *object, const char *member);  // 0 if it is missing

struct Finding {
  const char *state;  // "ok"; "open": something is needed that is not there; "warning"; "damaged"
  std::string text;
};
// What reading alone does not tell of a program that could be read. A program that was loaded whole is made a VM of.
std::vector<Finding> verify(const Program &program, const cJSON *module, Loading loading);

}  // namespace opd::cli
