// `opdyno bench` and `opdyno profile` of a language model: the commands drive the model's program themselves.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/machine_quality.h"
#include "cli/load/annotations.h"
#include "cli/load/program.h"
#include "cli/load/target.h"
#include "cli/support/args.h"
#include "cli/support/face.h"
#include "cli/support/failure.h"
#include "cli/tensors/tensor_make.h"

namespace opd::cli {

// Both fail with Exit::usage if the program is not a language model's.
Exit bench_language(const Args &args);
// `is_output_taken`: an option sends something else to standard output.
Exit profile_language(const Args &args, bool is_output_taken);

// ---- the parts of the time to decode a token

// Seconds of each decoding pass: the whole pass, and the caches' work to begin and end it.
struct DecodingTimes {
  std::vector<double> whole, bookkeeping;
};

// Medians over the decoding passes, in seconds, so that a disturbed pass does not matter. `whole`, and the part of
// `bookkeeping` that begins and ends passes, come from passes without a recording, because a recording would make them
// look longer. The other members come from a recording.
struct TokenProfile {
  struct Operator {
    std::string name;
    double calls;    // mean number in a pass
    double seconds;  // without its callees
  };

  double whole = 0;
  double operators = 0;           // kernels that the program calls
  double attention = 0;           // kernels that the caches call for the program
  double bookkeeping = 0;         // the caches' other work: starting and ending passes, functions around those kernels
  double dispatch = 0;            // the rest of the host's time: the VM, its builtins, memory, the call
  std::vector<Operator> longest;  // longest first, with builtins

  // `report` is of `passes` decoding passes, with the columns of opd_profile_options.details.
  TokenProfile(const Report &report, size_t passes, const DecodingTimes &plain);

  double share(double seconds) const { return whole > 0 ? seconds / whole : 0; }
  double host_share() const { return share(bookkeeping + dispatch); }
};

// ---- the program of a language model
//
// It has functions that make caches, embed tokens, compute prompts and decode. The functions and the roles of their
// parameters are found by the conventions of TVM's and MLC's compilers (docs/language_models.md). Options name other
// functions.

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

// ---- the arguments of a language model's functions: weights, random tokens, sizes of its caches

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
  Value make_weight(const LanguageFunction &function, const LanguageParam &param) const;
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

// ---- a run of the program: its caches, prompts of random tokens, and further tokens decoded in a batch

struct GenerationPlan {
  int64_t prefill, decode, batch;  // tokens of each prompt, tokens decoded after it, sequences

  // Whether the options ask for a generation. Fails with Exit::usage if only some of them do.
  static bool is_wanted(const Args &args);
  static GenerationPlan of(const Args &args);
  StateSizes sizes() const;
};

struct GenerationRun {
  double first_token = 0;  // seconds until each sequence has its first token
  DecodingTimes decoding;
};

class Generation {
 public:
  // `options` returns the options of a call: deadline and token.
  Generation(const LanguageProgram &program, const Target &target, const Args &args,
             std::function<opd_call_options()> options);

  const GenerationPlan &plan() const { return plan_; }
  // Makes the states and computes one token. The size of its logits is the size of the vocabulary.
  void begin();
  // Removes all sequences from the states, and adds those of the plan.
  void restart();
  // The passes of a run that compute prompts. Prompts follow each other and are split where a pass is full. If a state
  // is a recurrent network's, each prompt has its own passes. The decoding passes come later.
  std::vector<LanguagePass> prompt_passes() const;
  LanguagePass decoding_pass() const;
  struct Times {
    double whole, bookkeeping;  // seconds
  };
  // Begins a pass on the states, calls `compute` with the function of the pass and its arguments, and ends the pass. If
  // `compute` throws, the states are restored.
  using Compute = std::function<void(const LanguageFunction &, const std::vector<Value> &args)>;
  Times with_pass(const LanguagePass &pass, const Compute &compute);
  // Computes all passes. `before_decoding` and `after_decoding` are called around the decoding passes. The states stay
  // full.
  GenerationRun run(const std::function<void()> &before_decoding = {},
                    const std::function<void()> &after_decoding = {});
  // The statistics of the first state after the last run.
  opd_kv_stats stats() const { return states_.at(0).stats(); }
  int64_t vocabulary() const { return vocabulary_; }

 private:
  Times compute(const LanguagePass &pass);
  Value call(const LanguageFunction &function, const std::vector<Value> &args) const;

  const LanguageProgram &program_;
  const Target &target_;
  const std::function<opd_call_options()> options_;
  const GenerationPlan plan_;
  LanguageInputs inputs_;
  std::vector<KvState> states_;
  std::vector<Value> state_values_;
  Value result_;  // result of the last pass
  int64_t vocabulary_ = 0;
};

// ---- the output of `bench` and `profile` for a language model: text and JSON

struct LanguageResult {
  GenerationPlan plan;
  int64_t vocabulary;
  int64_t threads;
  opd_kv_stats cache;
  std::vector<GenerationRun> runs;
  std::string machine;                      // the machine's name
  std::vector<std::string> functions = {};  // called functions: for caches, embed, prefill, decode
  std::optional<TokenProfile> profile = {};
  std::vector<MachineQuality::Entry> quality = {};

  Benchmark first_tokens() const;  // one time per run
  DecodingTimes tokens() const;    // one time per pass of all runs
};

// Shows at most `most` operators.
std::string language_text(const LanguageResult &result, int64_t most);
std::string language_json(const LanguageResult &result);

}  // namespace opd::cli
