// Finds the files that a source in CUDA C++ includes. NVRTC does not list them, so they are found in the text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/content_hash.h"

namespace opd::cuda {

// Adds to the hash every file that the source may include, directly or indirectly. For an included name, these are the
// files in all directories. Conditions around a directive are ignored. So the hash changes if such a file changes,
// appears or disappears. Returns false if the text does not determine the included files: a name made by a macro, the
// date, or too many files.
// Cost: 15 ms for the headers of NVIDIA that TVM's kernels include.
bool add_included_files(ContentHash &hash, std::string_view source, const std::vector<std::string> &directories);

}  // namespace opd::cuda
