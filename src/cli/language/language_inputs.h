// The arguments of a language model's functions: weights, random tokens, sizes of its caches.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/language/language_program.h"
#include "cli/tensors/random.h"
#include "cli/tensors/tensor_make.h"

namespace opd::cli {

// The work of one pass: its sequences, and the number of new tokens of each.
struct LanguagePass {
  std::vector<int64_t> ids, counts;
  bool is_decoding = false;  // one token of each sequence

  int64_t rows() const;
};

// The sizes of a state.
struct StateSizes {
  int64_t batch, total, chunk;
  static constexpr int64_t kPage = 16;  // page size of the kernels that TVM generates
};

class LanguageInputs {
 public:
  // Weights come from --params or are random. Fails with Exit::usage if the program does not describe its weights.
  LanguageInputs(const LanguageProgram &program, const Args &args, DLDevice device);

  std::vector<Value> sizes(const LanguageFunction &create, const StateSizes &sizes) const;
  // The arguments of `function` for a pass on `states`, with random tokens as the input.
  std::vector<Value> arguments(const LanguageFunction &function, const LanguagePass &pass,
                               const std::vector<Value> &states = {});
  // The result of embed, in the shape that `function` takes.
  static Value embedded(const LanguageFunction &function, const LanguagePass &pass, const Value &input);
  void set_vocabulary(int64_t size) { vocabulary_ = size; }

 private:
  Value weights_of(const LanguageFunction &function, const LanguageParam &param);
  Value weight_of(const LanguageFunction &function, const LanguageParam &param);
  Value make_weights(const LanguageFunction &function, const LanguageParam &param) const;
  Tensor random_tensor(const AnnotatedTensor &of, const std::string &where, uint64_t stream) const;
  Tensor tokens(const std::vector<int64_t> &dims, const std::string &dtype);
  Value input_of(const LanguageFunction &function, const LanguageParam &param, const LanguagePass &pass);
  Value positions(const LanguagePass &pass) const;

  TensorMaker maker_;
  Random random_;
  std::optional<std::string> path_;
  Params params_;                      // without a handle if there is no --params
  std::map<std::string, Value> made_;  // by the name of the parameter
  int64_t vocabulary_ = 1;
};

}  // namespace opd::cli
