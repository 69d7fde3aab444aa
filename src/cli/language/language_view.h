// The output of `bench` and `profile` for a language model: text and JSON.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/machine_quality.h"
#include "cli/language/generation.h"
#include "cli/language/token_profile.h"

namespace opd::cli {

struct LanguageResult {
  GenerationPlan plan;
  std::vector<std::string> functions;  // called functions: for caches, embed, prefill, decode
  int64_t vocabulary;
  int64_t threads;
  opd_kv_stats cache;
  std::vector<GenerationRun> runs;
  std::optional<TokenProfile> profile;
  std::vector<MachineQuality::Entry> quality;
  std::string machine = {};  // the machine's name

  Benchmark first_tokens() const;  // one time per run
  DecodingTimes tokens() const;    // one time per pass of all runs
};

// Shows at most `most` operators.
std::string language_text(const LanguageResult &result, int64_t most);
std::string language_json(const LanguageResult &result);

}  // namespace opd::cli
