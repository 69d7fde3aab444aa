// A call's result as named leaves: `out`, or `out_0`, `out_1_2` for the items of (nested) tuples.
#pragma once
#include <string>
#include <vector>

#include "face.h"

namespace opd::cli {

struct Leaf {
  std::string name;
  Value value;    // as returned
  Tensor tensor;  // on the CPU; numbers and shapes as small tensors; NULL for other values
};

std::vector<Leaf> flatten(const Value &result);

// The leaves that are tensors as a .npz (or .npy) file. Fails with Exit::failed.
void save_leaves(const std::vector<Leaf> &leaves, const std::string &path);

}  // namespace opd::cli
