// Describes a parameter file: names, dtypes and shapes, without loading tensors.
#pragma once
#include <string>

#include "cli/support/face.h"

namespace opd::cli {

std::string params_text(const Params &params);
std::string params_json(const Params &params);

}  // namespace opd::cli
