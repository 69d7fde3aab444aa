// Where CUDA toolkits are, besides where the loader looks.
#pragma once
#include <string>
#include <vector>

namespace opd::cuda {

std::vector<std::string> toolkits();  // of CUDA_HOME, CUDA_PATH, and /usr/local/cuda

}  // namespace opd::cuda
