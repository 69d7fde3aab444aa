// The chain of tiny kernels, loaded and ready.
#pragma once
#include <opdyno/opdyno.hpp>

namespace bench {

struct Chain {
  explicit Chain(const std::string &name = "chain_1000");
  opdyno::Report profile(int repeat) const;

  opdyno::Module module;
  opdyno::Vm vm;
  opdyno::Tensor x;
  int kernels;
};

}  // namespace bench
