// Runs two builds of a language model with the same tokens, and compares them pass by pass. Each has its own cache.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "cli/language/generation.h"

namespace opd::cli {

struct ComparedPasses {
  opdyno::Comparison last;  // comparison of the first pass that differs, else of the last pass
  int64_t count;            // passes that were compared
  std::string pass;         // the last compared pass: "prefill, pass 1 of 5"
};

class ComparedGeneration {
 public:
  // The programs are words()[0] and [1].
  explicit ComparedGeneration(const Args &args);
  ~ComparedGeneration();

  // `options` returns the options of the next comparison. Operators are measured in the last pass that is compared.
  ComparedPasses compare(const std::function<opd_compare_options()> &options);

 private:
  struct Side;

  std::unique_ptr<Side> a_, b_;
};

}  // namespace opd::cli
