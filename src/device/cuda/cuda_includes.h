// The files that a source in CUDA C++ includes. NVRTC does not tell them, so they are found in the text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/content_hash.h"

namespace opd::cuda {

// Adds every file to the hash that the source, or a file that it includes, may include: all of the name, in all folders
// and whatever the conditions around the directive are. So the hash changes when a file does, or when one appears or
// goes. Returns false if the text does not tell what is compiled: a name made by a macro, the date, or too many files.
// Cost: 15 ms for what TVM's kernels include of NVIDIA's headers.
bool add_included_files(ContentHash &hash, std::string_view source, const std::vector<std::string> &directories);

}  // namespace opd::cuda
