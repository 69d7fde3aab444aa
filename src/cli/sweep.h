// The sizes that `bench --sweep` goes through: every combination of the values of each name.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "args.h"

namespace opd::cli {

// Sizes that the program leaves open, in the order in which they were given.
using Sizes = std::vector<std::pair<std::string, int64_t>>;

// Of --sweep; one without sizes if it was not given. Fails with Exit::usage.
std::vector<Sizes> sweep_of(const Args &args);
std::string sizes_text(const Sizes &sizes);  // "n=8, m=4"

}  // namespace opd::cli
