// A call's result as named leaves: `out`, or `out_0`, `out_1_2` for the items of (nested) tuples.
#pragma once
#include <string>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

struct Leaf {
  std::string name;
  Value value;    // as returned
  Tensor tensor;  // on the CPU; numbers and shapes as small tensors; NULL for other values
};

std::vector<Leaf> flatten(const Value &result);

// Checks a path for save_leaves() before anything runs. Fails with Exit::usage for "-". Prints a message if the suffix
// is not one of parameter files.
void check_results_path(const std::string &path);
// Saves the leaves that are tensors to a parameter file, whose suffix decides the format. Prints a message that names
// the leaves left out. Fails with Exit::failed, also if no leaf is a tensor.
void save_leaves(const std::vector<Leaf> &leaves, const std::string &path);

}  // namespace opd::cli
