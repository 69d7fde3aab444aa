// A call's result as named leaves: `out`, or `out_0`, `out_1_2` for the items of (nested) tuples. They are saved to a
// file, or compared with a file of expected tensors, element by element.
#pragma once
#include <string>
#include <vector>

#include "cli/support/args.h"
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
// the leaves left out. Fails with Exit::failed if it cannot write, or if no leaf is a tensor.
void save_leaves(const std::vector<Leaf> &leaves, const std::string &path);

// The options --expect, --rtol, --atol and --equal-nan.
struct Expectation {
  std::string path;    // without the prefix
  std::string prefix;  // "main" selects the keys main/out…
  double rtol, atol;   // |got - wanted| ≤ atol + rtol · |wanted|
  bool has_tolerance;  // integers are compared exactly unless a tolerance was given
  bool equal_nan;

  static Expectation from(const Args &args);
};

// The comparison of one output.
struct Comparison {
  std::string name;
  std::string problem = {};  // mismatch of the whole output (missing, shape, dtype); "" if none
  size_t elements = 0, mismatches = 0;
  std::string worst = {};         // "at [1, 3]: got 0.25, expected 0.5, which differ by 0.25"; "" without a mismatch
  double largest_difference = 0;  // over all finite elements
  bool is_compared = true;        // false: not a tensor, number or shape, so no file can hold it

  bool is_good() const { return problem.empty() && mismatches == 0; }
  std::string text() const;  // one sentence
};

// Returns one entry per output, and one per expected tensor without an output.
std::vector<Comparison> compare(const std::vector<Leaf> &leaves, const Expectation &expectation);

}  // namespace opd::cli
