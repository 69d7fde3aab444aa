// Builtins that adjust logits and choose tokens by sampling. The arithmetic is float32 in TVM's order, so that the same
// random numbers choose the same tokens.
#include <cmath>
#include <limits>
#include <vector>

#include "device/device.h"
#include "vm/builtins/builtins.h"
#include "vm/builtins/tensor_args.h"

namespace opd {
namespace {

// Returns the elements of a tensor of one row.
template <class T>
std::span<T> row(const View &v, std::string_view name, DLDataType dtype) {
  const DLTensor &tensor = compact_tensor(v, name, dtype);
  const auto all = elements<T>(tensor, name);
  require(tensor.ndim >= 1 && all.size() == static_cast<uint64_t>(tensor.shape[tensor.ndim - 1]), name,
          " must have one row, but is ", describe(tensor));
  return all;
}

void refuse_nan(std::span<const float> numbers, std::string_view name) {
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::isnan(numbers[i])) fail(OPD_INVALID_ARGUMENT, "element ", i, " of ", name, " is NaN");
}

std::span<float> logits_row(const View &v, std::string_view name) {
  const auto numbers = row<float>(v, name, kFloat32);
  require(!numbers.empty(), name, " must not be empty");
  refuse_nan(numbers, name);
  return numbers;
}

double uniform_of(const View &v) {
  const double uniform = as_finite(v, "uniform_sample");
  if (uniform < 0 || uniform > 1) fail(OPD_OUT_OF_RANGE, "uniform_sample must be from 0 to 1, but is ", uniform);
  return uniform;
}

double top_p_of(const View &v) {
  const double top_p = as_finite(v, "top_p");
  if (top_p < 0) fail(OPD_OUT_OF_RANGE, "top_p must not be negative, but is ", top_p);
  return top_p;
}

struct Candidate {
  float weight;
  int64_t token;
  friend bool operator<(const Candidate &a, const Candidate &b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
  }
};

Value sample_top_p_from_logits(Args args) {
  const auto logits = logits_row(args[0], "logits");
  const double temperature = as_finite(args[1], "temperature"), top_p = top_p_of(args[2]),
               uniform = uniform_of(args[3]);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < logits.size(); ++i) candidates.push_back({logits[i], static_cast<int64_t>(i)});
  std::sort(candidates.begin(), candidates.end());
  if (temperature < 1e-6f) return candidates[0].token;
  const float scale = 1.0f / static_cast<float>(temperature), greatest = candidates[0].weight;
  require(std::isfinite(greatest), "the greatest of logits must be finite, but is ", static_cast<double>(greatest));
  float sum = 0;
  for (auto &candidate : candidates) sum += candidate.weight = std::exp((candidate.weight - greatest) * scale);
  float cumulated = 0, kept = 0;
  for (auto &candidate : candidates) {
    const float probability = candidate.weight / sum;
    if (cumulated < top_p) kept += probability;
    candidate.weight = cumulated += probability;
  }
  for (const auto &candidate : candidates)
    if (uniform < candidate.weight / kept) return candidate.token;
  // The loop ends without a token if the sample is close to 1 and rounding made the sums smaller.
  return candidates.back().token;
}

// Samples only from tokens whose probability is at least `cutoff`. Returns −1 if they are too few.
int64_t sample_above(std::span<const float> probabilities, float cutoff, double top_p, double uniform) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < probabilities.size(); ++i)
    if (probabilities[i] >= cutoff) candidates.push_back({probabilities[i], static_cast<int64_t>(i)});
  if (candidates.empty()) return -1;
  std::sort(candidates.begin(), candidates.end());
  if (uniform < candidates[0].weight / top_p) return candidates[0].token;
  float cumulated = 0, kept = 0;
  size_t used = 0;
  for (; used < candidates.size() && cumulated < top_p; ++used) {
    kept += candidates[used].weight;
    candidates[used].weight = cumulated += candidates[used].weight;
  }
  if (cumulated < top_p && cutoff != 0) return -1;
  for (size_t i = 0; i < used; ++i)
    if (uniform < candidates[i].weight / kept) return candidates[i].token;
  return candidates[used - 1].token;
}

Value sample_top_p_from_prob(Args args) {
  const auto probabilities = logits_row(args[0], "prob");
  const double top_p = top_p_of(args[1]), uniform = uniform_of(args[2]);
  // Few tokens have a probability worth sorting: at most 1024 / top_p, mostly a dozen or two.
  int64_t token = top_p < 1 ? sample_above(probabilities, static_cast<float>(top_p / 1024), top_p, uniform) : -1;
  if (token < 0) token = sample_above(probabilities, 0, top_p, uniform);
  require(token >= 0, "prob must have an element that is not negative");
  return token;
}

// Chooses for each row the first token whose cumulated probability exceeds the row's number.
Value multinomial_from_uniform(Args args) {
  const DLTensor &prob = compact_tensor(args[0], "prob", kFloat32),
                 &sample = compact_tensor(args[1], "uniform_sample", kFloat32);
  const auto probabilities = elements<float>(prob, "prob"), samples = elements<float>(sample, "uniform_sample");
  require(prob.ndim >= 2 && !probabilities.empty(), "prob must be of rank 2 and not empty, but is ", describe(prob));
  const auto batch = static_cast<size_t>(prob.shape[0]), vocabulary = static_cast<size_t>(prob.shape[prob.ndim - 1]);
  require(probabilities.size() == batch * vocabulary, "prob must be [batch, vocabulary], but is ", describe(prob));
  require(samples.size() == batch, "uniform_sample must have an element for each of the ", batch,
          " rows of prob, but is ", describe(sample));
  refuse_nan(probabilities, "prob");
  refuse_nan(samples, "uniform_sample");
  const int64_t dims[] = {static_cast<int64_t>(batch), 1};
  auto result = make_tensor(dims, kInt64, sample.device);
  auto *tokens = static_cast<int64_t *>(result->dl.data);
  for (size_t i = 0; i < batch; ++i) {
    float cumulated = 0;
    size_t token = 0;
    for (size_t j = 0; j < vocabulary; ++j) {
      token = j;
      cumulated += probabilities[i * vocabulary + j];
      if (cumulated > samples[i]) break;
    }
    tokens[i] = static_cast<int64_t>(token);
  }
  return result;
}

// ---- in place

std::span<const int32_t> tokens_row(const View &v, size_t vocabulary) {
  const auto tokens = row<int32_t>(v, "token_ids", kInt32);
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || static_cast<size_t>(tokens[i]) >= vocabulary)
      fail(OPD_OUT_OF_RANGE, "element ", i, " of token_ids is ", tokens[i], ", but logits have ", vocabulary,
           " elements");
  return tokens;
}

Value apply_repetition_penalty(Args args) {
  writable_dltensor(args[0], "logits");
  const auto logits = logits_row(args[0], "logits");
  const auto tokens = tokens_row(args[1], logits.size());
  const double penalty = as_finite(args[2], "penalty");
  require(penalty > 0, "penalty must be greater than 0, but is ", penalty);
  for (const int32_t token : tokens) {
    float &logit = logits[static_cast<size_t>(token)];
    logit = static_cast<float>(logit <= 0 ? logit * penalty : logit / penalty);
  }
  return {};
}

Value apply_presence_and_frequency_penalty(Args args) {
  writable_dltensor(args[0], "logits");
  const auto logits = logits_row(args[0], "logits");
  const auto tokens = tokens_row(args[1], logits.size());
  const auto counts = row<int32_t>(args[2], "token_freqs", kInt32);
  require(counts.size() == tokens.size(), "token_freqs must have an element for each of the ", tokens.size(),
          " token_ids, but has ", counts.size());
  const double presence = as_finite(args[3], "presence_penalty"), frequency = as_finite(args[4], "frequency_penalty");
  for (size_t i = 0; i < tokens.size(); ++i) {
    float &logit = logits[static_cast<size_t>(tokens[i])];
    logit = static_cast<float>(logit - (counts[i] * frequency + presence));
  }
  return {};
}

Value apply_softmax_with_temperature(Args args) {
  writable_dltensor(args[0], "logits");
  const auto logits = logits_row(args[0], "logits");
  const double temperature = as_finite(args[1], "temperature");
  require(temperature > 0, "temperature must be greater than 0, but is ", temperature);
  const float scale = static_cast<float>(1.0f / temperature);
  float greatest = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) greatest = std::max(greatest, logit * scale);
  require(std::isfinite(greatest), "the greatest of logits must be finite, but is ", static_cast<double>(greatest));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit * scale - greatest);
  for (float &logit : logits) logit = static_cast<float>(std::exp(logit * scale - greatest) / sum);
  return {};
}

constexpr Builtin kSamplingBuiltins[] = {
    builtin<"vm.builtin.sample_top_p_from_logits", sample_top_p_from_logits,
            "(logits, temperature, top_p, uniform_sample)", 4>(),
    builtin<"vm.builtin.sample_top_p_from_prob", sample_top_p_from_prob, "(prob, top_p, uniform_sample)", 3>(),
    builtin<"vm.builtin.multinomial_from_uniform", multinomial_from_uniform, "(prob, uniform_sample)", 2>(),
    builtin<"vm.builtin.apply_repetition_penalty", apply_repetition_penalty, "(logits, token_ids, penalty)", 3>(),
    builtin<"vm.builtin.apply_presence_and_frequency_penalty", apply_presence_and_frequency_penalty,
            "(logits, token_ids, token_freqs, presence_penalty, frequency_penalty)", 5>(),
    builtin<"vm.builtin.apply_softmax_with_temperature", apply_softmax_with_temperature, "(logits, temperature)", 2>(),
};

}  // namespace

std::span<const Builtin> sampling_builtins() { return kSamplingBuiltins; }

}  // namespace opd
