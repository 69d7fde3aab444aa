// Implements Generation: makes a program's caches, computes prompts in passes, decodes tokens, and measures the time of
// each pass.
#include <algorithm>
#include <chrono>

#include "cli/language/language.h"
#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMostChunk = 2048;  // tokens in a pass, as in MLC's models

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

bool GenerationPlan::is_wanted(const Args &args) {
  if (args.has("prefill") || args.has("decode")) return true;
  for (const char *name : {"batch", "create-function", "prefill-function", "decode-function", "embed-function"})
    if (args.has(name)) fail_usage(cat("--", name, " is for language models: it goes with --prefill or --decode"));
  return false;
}

GenerationPlan GenerationPlan::of(const Args &args) {
  constexpr int64_t most = 1 << 24;
  return {args.integer("prefill", 128, 1, most), args.integer("decode", 32, 1, most),
          args.integer("batch", 1, 1, 1 << 16)};
}

StateSizes GenerationPlan::sizes() const {
  const int64_t pages = (prefill + decode + StateSizes::kPage - 1) / StateSizes::kPage;
  return {batch, batch * pages * StateSizes::kPage, std::max(batch, std::min(batch * prefill, kMostChunk))};
}

Generation::Generation(const LanguageProgram &program, const Target &target, const Args &args,
                       std::function<opd_call_options()> options)
    : program_(program),
      target_(target),
      options_(std::move(options)),
      plan_(GenerationPlan::of(args)),
      inputs_(program, args, target.device()) {
  const LanguageParam &input = program.decode.params.at(0);
  if (plan_.batch == 1 || input.tensors.empty() || input.tensors[0].dims.empty()) return;
  if (const auto *first = std::get_if<int64_t>(&input.tensors[0].dims[0]); first && *first == 1)
    fail_usage(cat(program.decode.name, " takes ", input.name, " of the shape ", dims_text(input.tensors[0].dims),
                   ", so it decodes one sequence; give --batch 1, or another function by --decode-function"));
}

Value Generation::call(const LanguageFunction &function, const std::vector<Value> &args) const {
  return target_.vm().call_with(options_(), function.name.c_str(), views_of(args));
}

void Generation::restart() {
  for (const KvState &state : states_) {
    state.clear();
    for (int64_t id = 0; id < plan_.batch; ++id) state.add(id);
  }
}

void Generation::begin() {
  for (const LanguageFunction &create : program_.creates) {
    state_values_.push_back(call(create, inputs_.sizes(create, plan_.sizes())));
    states_.push_back(
        attempt(Exit::usage, cat(create.name, " made no cache"), [&] { return KvState(state_values_.back()); }));
  }
  for (const KvState &state : states_) state.add(0);
  compute({{0}, {1}});
  const Value logits = result_.type() == OPD_ARRAY && Array::of(result_).size() > 0 ? Array::of(result_)[0] : result_;
  if (logits.type() != OPD_TENSOR || Tensor::of(logits).view().ndim == 0)
    fail_usage(cat(program_.prefill.name, " returns no logits, but ", logits.to_string(),
                   "; name another function by --prefill-function"));
  vocabulary_ = Tensor::of(logits).shape().back();
  inputs_.set_vocabulary(vocabulary_);
}

// The measured times exclude the host's preparation of arguments. They include the reshape of embed's result.
Generation::Times Generation::with_pass(const LanguagePass &pass, const Compute &compute) {
  const LanguageFunction &function = pass.is_decoding ? program_.decode : program_.prefill;
  std::vector<Value> args = inputs_.arguments(function, pass, state_values_), embed_args;
  if (program_.embed) embed_args = inputs_.arguments(*program_.embed, pass);
  std::vector<std::unique_ptr<opdyno::KvPass>> passes;
  const auto begin = Clock::now();
  for (const KvState &state : states_) passes.push_back(std::make_unique<opdyno::KvPass>(state, pass.ids, pass.counts));
  const auto begun = Clock::now();
  if (program_.embed) args[0] = LanguageInputs::embedded(function, pass, call(*program_.embed, embed_args));
  compute(function, args);
  const auto computed = Clock::now();
  for (const auto &one : passes) one->keep();
  const auto end = Clock::now();
  return {seconds_between(begin, end), seconds_between(begin, begun) + seconds_between(computed, end)};
}

Generation::Times Generation::compute(const LanguagePass &pass) {
  return with_pass(pass, [&](const LanguageFunction &function, const std::vector<Value> &args) {
    result_ = call(function, args);
    if (target_.device().device_type != kDLCPU) opdyno::sync(target_.device());
  });
}

std::vector<LanguagePass> Generation::prompt_passes() const {
  const int64_t chunk = plan_.sizes().chunk;
  // Functions for prompts get the rows of all sequences in one tensor. Attention separates the sequences, but a
  // recurrence does not.
  const bool is_recurrent =
      std::any_of(states_.begin(), states_.end(), [](const KvState &state) { return state.stats().page_size == 0; });
  std::vector<LanguagePass> passes(1);
  int64_t room = chunk;
  for (int64_t id = 0; id < plan_.batch; ++id)
    for (int64_t left = plan_.prefill; left > 0;) {
      if (room == 0 || (is_recurrent && !passes.back().ids.empty())) passes.emplace_back(), room = chunk;
      const int64_t count = std::min(left, room);
      passes.back().ids.push_back(id);
      passes.back().counts.push_back(count);
      left -= count;
      room -= count;
    }
  return passes;
}

LanguagePass Generation::decoding_pass() const {
  LanguagePass pass{{}, std::vector<int64_t>(static_cast<size_t>(plan_.batch), 1), true};
  for (int64_t id = 0; id < plan_.batch; ++id) pass.ids.push_back(id);
  return pass;
}

GenerationRun Generation::run(const std::function<void()> &before_decoding,
                              const std::function<void()> &after_decoding) {
  restart();
  GenerationRun run;
  for (const LanguagePass &pass : prompt_passes()) run.first_token += compute(pass).whole;
  if (before_decoding) before_decoding();
  for (int64_t i = 0; i < plan_.decode; ++i) {
    const Times times = compute(decoding_pass());
    run.decoding.whole.push_back(times.whole);
    run.decoding.bookkeeping.push_back(times.bookkeeping);
  }
  if (after_decoding) after_decoding();
  return run;
}

}  // namespace opd::cli
