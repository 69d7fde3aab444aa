// The program of a language model: the functions that make its caches, embed tokens, compute prompts and decode, and
// the roles of their parameters. They are found by the conventions of TVM's and MLC's compilers
// (docs/language_models.md); options name other functions.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/load/annotations.h"
#include "cli/load/program.h"

namespace opd::cli {

enum class Role {
  input,      // tokens, or their embeddings
  positions,  // positions of the rows whose logits are wanted
  state,      // a cache of keys and values, or the states of a recurrent network
  weights,    // all weights in a tuple
  weight,     // a single weight
  size        // a size of a state
};

struct LanguageParam {
  Role role;
  std::string name;
  std::vector<AnnotatedTensor> tensors;  // as far as known; several for a tuple
};

struct LanguageFunction {
  std::string name;
  std::vector<LanguageParam> params;

  size_t count(Role role) const;
};

struct LanguageProgram {
  std::vector<LanguageFunction> creates;  // in the order in which other functions take their results
  std::optional<LanguageFunction> embed;
  LanguageFunction prefill, decode;

  // Fails with Exit::usage if a function is missing, and names the expected ones.
  static LanguageProgram of(const Program &program, const Args &args);
};

}  // namespace opd::cli
