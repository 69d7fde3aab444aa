// Drives the program of a language model: makes its caches, computes prompts of random tokens, and decodes further ones
// in a batch.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "cli/language/language_inputs.h"
#include "cli/language/token_profile.h"
#include "cli/load/target.h"

namespace opd::cli {

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
  // Computes one token. The size of its logits is the size of the vocabulary.
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
  void make_states();

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

}  // namespace opd::cli
