// The chain of tiny kernels, loaded and ready.
#pragma once
#include <opdyno/opdyno.hpp>

#include "harness.h"

namespace bench {

struct Chain {
  explicit Chain(const std::string &name = "chain_1000");
  opdyno::Report profile(int repeat, opd_collector *collector = nullptr) const;

  opdyno::Module module;
  opdyno::Vm vm;
  opdyno::Tensor x;
  int kernels;
};

// Nanoseconds that profiling adds to each recorded call of the chain, median of so many profiles; by a collector too,
// if there is one.
Sampler time_of_records(const Chain &chain, int repeat, int measurements, opd_collector *collector = nullptr);

}  // namespace bench
