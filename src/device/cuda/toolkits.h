// Directories of CUDA toolkits, in addition to those that the loader searches.
#pragma once
#include <string>
#include <vector>

namespace opd::cuda {

std::vector<std::string> toolkits();  // from CUDA_HOME, CUDA_PATH, and /usr/local/cuda

}  // namespace opd::cuda
