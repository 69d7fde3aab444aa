// Texts of `opdyno inspect`, made from the library's description of a module tree.
#pragma once
#include <string>

#include "cli/support/json.h"

namespace opd::cli {

// Each takes a module's description by opd_module_to_json(), and returns whole lines.
std::string overview_text(const cJSON *module);
std::string tree_text(const cJSON *module);
std::string signatures_text(const cJSON *module);
std::string sizes_text(const cJSON *module);

// "library  model.so": kind and file.
std::string module_name(const cJSON *module);
// "main(x: float32[n, 784]) -> float32[n, 10]", as far as known.
std::string signature_text(const cJSON *function);
// A number, text or list of plain items on one line; anything else as JSON.
std::string plain_text(const cJSON *item);
}  // namespace opd::cli
