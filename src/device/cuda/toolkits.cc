#include "device/cuda/toolkits.h"

#include <stdlib.h>

namespace opd::cuda {

std::vector<std::string> toolkits() {
  std::vector<std::string> found;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = ::secure_getenv(variable); value && *value) found.emplace_back(value);
  found.emplace_back("/usr/local/cuda");
  return found;
}

}  // namespace opd::cuda
