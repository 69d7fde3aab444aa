// Texts of `opdyno inspect`, made from the library's description of a module tree.
#pragma once
#include <string>

#include "cli/support/json.h"

namespace opd::cli {

// Each of these functions takes a module's description by opd_module_to_json(), and returns whole lines.
std::string overview_text(const cJSON *module);
std::string tree_text(const cJSON *module);
std::string signatures_text(const cJSON *module);
std::string sizes_text(const cJSON *module);

// Returns kind and file, such as "library  model.so".
std::string module_name(const cJSON *module);
// Returns the known part of the signature, such as "main(x: float32[n, 784]) -> float32[n, 10]".
std::string signature_text(const cJSON *function);
// Returns a number, text or list of plain items on one line, and anything else as JSON.
std::string plain_text(const cJSON *item);
}  // namespace opd::cli
