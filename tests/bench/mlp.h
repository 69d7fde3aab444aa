// The parameters of mlp_784, as tests/interop/models/scaling.py has them.
#pragma once
#include <cstdint>
#include <vector>

namespace bench {

inline const std::vector<std::vector<int64_t>> kMlpShapes = {{1, 784}, {784, 256}, {256}, {256, 128},
                                                             {128},    {128, 10},  {10}};

}  // namespace bench
