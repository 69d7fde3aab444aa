// The sizes of `bench --sweep`: every combination of the values of each name.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/support/args.h"

namespace opd::cli {

// Values of sizes that the program leaves open, in the order given.
using Sizes = std::vector<std::pair<std::string, int64_t>>;

// The rows of --sweep; a single row without sizes if it is absent. Fails with Exit::usage.
std::vector<Sizes> sweep_of(const Args &args);
std::string sizes_text(const Sizes &sizes);  // "n=8, m=4"

}  // namespace opd::cli
