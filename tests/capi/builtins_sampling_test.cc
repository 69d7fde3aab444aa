// Sampling and penalties. Expected tokens and numbers are what TVM 0.27's functions of the same names gave.
#include <cmath>

#include "support/tensors.h"

using namespace opdyno_test;

namespace {

int64_t from_logits(double temperature, double top_p, double uniform) {
  return builtin("sample_top_p_from_logits")(floats({1, 3, 2, -1, 0.5f}), temperature, top_p, uniform).view().u.int64;
}
int64_t from_prob(double top_p, double uniform) {
  return builtin("sample_top_p_from_prob")(floats({.1f, .5f, .05f, .3f, .05f}, {1, 5}), top_p, uniform).view().u.int64;
}

}  // namespace

TEST(Sampling, FromLogitsWithTemperature) {
  EXPECT_EQ(from_logits(0, 1, .9), 1);
  EXPECT_EQ(from_logits(1, 1, .1), 1);
  EXPECT_EQ(from_logits(1, 1, .7), 2);
  EXPECT_EQ(from_logits(1, 1, .95), 4);
  EXPECT_EQ(from_logits(1, 1, .999), 3);
  EXPECT_EQ(from_logits(.5, .9, .95), 2);
  EXPECT_EQ(from_logits(1, .5, .99), 1);
  EXPECT_EQ(from_logits(2, .8, .8), 2);
  EXPECT_EQ(from_logits(1, 0, .5), 1);
}

// Of two equal tokens, the numbers below 0.5 take the one, and those from it on the other.
TEST(Sampling, ANumberBetweenTwoTokensTakesTheSecond) {
  const auto of = [](const char *name, const Tensor &numbers, double uniform) {
    const bool is_logits = std::string(name) == "sample_top_p_from_logits";
    return (is_logits ? builtin(name)(numbers, 1.0, 1.0, uniform) : builtin(name)(numbers, 1.0, uniform))
        .view()
        .u.int64;
  };
  for (const auto &[name, numbers] : {std::pair{"sample_top_p_from_logits", floats({0, 0})},
                                      std::pair{"sample_top_p_from_prob", floats({.5f, .5f})}}) {
    EXPECT_NE(of(name, numbers, .499), of(name, numbers, .5)) << name;
    EXPECT_EQ(of(name, numbers, .5), of(name, numbers, .501)) << name;
  }
}

// Of two equal tokens, the first alone makes up half of the probability.
TEST(Sampling, TopPKeepsTheFewestTokensThatReachIt) {
  EXPECT_EQ(builtin("sample_top_p_from_logits")(floats({0, 0}), 1.0, .5, .99).view().u.int64, 0);
  EXPECT_EQ(builtin("sample_top_p_from_prob")(floats({.5f, .5f}), .5, .99).view().u.int64, 0);
}

TEST(Sampling, FromProbabilities) {
  EXPECT_EQ(from_prob(1, .2), 1);
  EXPECT_EQ(from_prob(1, .6), 3);
  EXPECT_EQ(from_prob(1, .85), 0);
  EXPECT_EQ(from_prob(1, .97), 4);
  EXPECT_EQ(from_prob(.7, .6), 1);
  EXPECT_EQ(from_prob(.7, .99), 3);
  EXPECT_EQ(from_prob(.3, .9), 1);
  EXPECT_EQ(from_prob(0, .5), 1);
  EXPECT_EQ(from_prob(2, .999), 4);
}

TEST(Sampling, MultinomialTakesARowEach) {
  const Value tokens = builtin("multinomial_from_uniform")(floats({.2f, .3f, .5f, .3f, .4f, .3f, 0, 1, 0}, {3, 3}),
                                                           floats({.4f, .9f, 0}, {3, 1}));
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(tokens)), (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(dims_of(Tensor::of(tokens)), (std::vector<int64_t>{3, 1}));
}

TEST(Sampling, ANumberNextToOneStaysInsideTheDistribution) {
  // Ten equal probabilities: their float32 sum is 1.0000001, so 1 chooses one of them in any case.
  EXPECT_LT(builtin("sample_top_p_from_prob")(floats(std::vector<float>(10, .1f)), 1.0, 1.0).view().u.int64, 10);
  EXPECT_LT(builtin("sample_top_p_from_logits")(floats(std::vector<float>(7, 0)), 1.0, 1.0, 1.0).view().u.int64, 7);
}

// The first four of eight equal tokens make up one half. A number of 1 belongs to no token, so the last of them takes
// it.
TEST(Sampling, TheNumberOneTakesTheLastTokenThatIsKept) {
  const auto of = [](double top_p, double uniform) {
    return builtin("sample_top_p_from_prob")(floats(std::vector<float>(8, .125f)), top_p, uniform).view().u.int64;
  };
  EXPECT_EQ(of(.5, 1), 3);
  EXPECT_EQ(of(.51, 1), 4);
  EXPECT_EQ(of(.125, 1), 0);
  EXPECT_EQ(of(1, 1), 7);
  for (int64_t token = 0; token < 4; ++token) {  // each has a quarter of the numbers
    EXPECT_EQ(of(.5, .25 * static_cast<double>(token)), token);
    EXPECT_EQ(of(.5, .25 * static_cast<double>(token) + .249), token);
  }
}

TEST(Sampling, TakesOneRowOfTheRightDtype) {
  const auto logits = builtin("sample_top_p_from_logits");
  const auto refused = [&](const Tensor &tensor, const char *part) {
    expect_throws([&] { logits(tensor, 1.0, 1.0, .5); }, OPD_INVALID_ARGUMENT, part);
  };
  refused(floats({1, 2, 3, 4}, {2, 2}), "logits must have one row, but is float32[2, 2]");
  refused(floats({1, 2}, {2, 1}), "logits must have one row, but is float32[2, 1]");
  refused(floats({}, {1, 0}), "logits must not be empty");
  EXPECT_EQ(logits(floats({1, 2}, {1, 2}), 0.0, 1.0, .5).view().u.int64, 1);
  EXPECT_EQ(logits(floats({1, 2}, {1, 1, 2}), 0.0, 1.0, .5).view().u.int64, 1);
  EXPECT_EQ(logits(floats({3}, {1}), 0.0, 1.0, .5).view().u.int64, 0);
}

TEST(Sampling, RefusesNanAndBadDistributions) {
  const auto logits = builtin("sample_top_p_from_logits"), prob = builtin("sample_top_p_from_prob"),
             multinomial = builtin("multinomial_from_uniform");
  expect_throws(
      [&] {
        logits(floats({1, NAN}), 1.0, 1.0, .5);
      },
      OPD_INVALID_ARGUMENT, "vm.builtin.sample_top_p_from_logits: element 1 of logits is NaN");
  expect_throws(
      [&] {
        logits(floats({1, INFINITY}), 1.0, 1.0, .5);
      },
      OPD_INVALID_ARGUMENT, "greatest of logits must be finite");
  expect_throws(
      [&] {
        logits(floats({-INFINITY, -INFINITY}), 1.0, 1.0, .5);
      },
      OPD_INVALID_ARGUMENT, "greatest of logits must be finite");
  expect_throws(
      [&] {
        logits(floats({1, 2}, {2, 1}), 1.0, 1.0, .5);
      },
      OPD_INVALID_ARGUMENT, "logits must have one row, but is float32[2, 1]");
  expect_throws([&] { logits(Tensor({0}, "float32"), 1.0, 1.0, .5); }, OPD_INVALID_ARGUMENT, "must not be empty");
  expect_throws([&] { logits(Tensor({}, "float32"), 1.0, 1.0, .5); }, OPD_INVALID_ARGUMENT, "one row");
  expect_throws([&] { logits(int32s({1}), 1.0, 1.0, .5); }, OPD_INVALID_ARGUMENT,
                "logits must be of dtype float32, but is int32[1]");
  expect_throws([&] { logits(floats({1}), NAN, 1.0, .5); }, OPD_INVALID_ARGUMENT,
                "temperature must be finite, but is nan");
  expect_throws([&] { logits(floats({1}), 1.0, -1.0, .5); }, OPD_OUT_OF_RANGE, "top_p must not be negative");
  expect_throws([&] { logits(floats({1}), 1.0, 1.0, 1.5); }, OPD_OUT_OF_RANGE,
                "uniform_sample must be from 0 to 1, but is 1.5");
  expect_throws([&] { prob(floats({NAN, NAN}), 1.0, .5); }, OPD_INVALID_ARGUMENT, "element 0 of prob is NaN");
  expect_throws(
      [&] {
        prob(floats({-1, -1}), 1.0, .5);
      },
      OPD_INVALID_ARGUMENT, "prob must have an element that is not negative");
  expect_throws(
      [&] {
        multinomial(floats({1, 0}, {1, 2}), floats({.5f, .5f}));
      },
      OPD_INVALID_ARGUMENT, "uniform_sample must have an element for each of the 1 rows");
  expect_throws([&] { multinomial(floats({1, 0}), floats({.5f})); }, OPD_INVALID_ARGUMENT, "prob must be of rank 2");
  expect_throws([&] { multinomial(floats({1, NAN}, {1, 2}), floats({.5f})); }, OPD_INVALID_ARGUMENT, "NaN");
}

TEST(Penalties, ChangeLogitsInPlace) {
  const Tensor repeated = floats({2, -2, 0, 4, 1}), present = floats({2, -2, 0, 4, 1}, {1, 1, 5});
  builtin("apply_repetition_penalty")(repeated, int32s({0, 1, 2, 3}), 1.6);
  EXPECT_EQ(to_floats(arg(repeated)), (std::vector<float>{1.25f, -3.2f, 0, 2.5f, 1}));
  builtin("apply_presence_and_frequency_penalty")(present, int32s({0, 3}), int32s({1, 4}), 0.5, 0.25);
  EXPECT_EQ(to_floats(arg(present)), (std::vector<float>{1.25f, -2, 0, 2.5f, 1}));  // 2 - (1/4 + 1/2), 4 - (4/4 + 1/2)
}

TEST(Penalties, SoftmaxWithTemperature) {
  const Tensor logits = floats({1, 2, 3, -1}), far = floats({-1000, -1001});
  builtin("apply_softmax_with_temperature")(logits, 0.7);
  const double expected[] = {0.0441659544167382, 0.18429277449617248, 0.7690047046424818,
                             0.002536566444607468};  // numpy, float64
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(to_floats(arg(logits))[i], expected[i], 1e-6);
  builtin("apply_softmax_with_temperature")(far, 1.0);
  EXPECT_NEAR(to_floats(arg(far))[0], 1 / (1 + std::exp(-1.0)), 1e-6);
  const Tensor cold = floats({1, 2, 3});
  builtin("apply_softmax_with_temperature")(cold, 0.001);  // scaled, they are far apart and far from 0
  EXPECT_EQ(to_floats(arg(cold)), (std::vector<float>{0, 0, 1}));
}

TEST(Penalties, RefuseTokensOutsideTheVocabularyBeforeTheyChangeAnything) {
  const Tensor logits = floats({1, 2});
  const auto repetition = builtin("apply_repetition_penalty"),
             presence = builtin("apply_presence_and_frequency_penalty");
  expect_throws(
      [&] {
        repetition(logits, int32s({0, 2}), 2.0);
      },
      OPD_OUT_OF_RANGE, "element 1 of token_ids is 2, but logits have 2 elements");
  expect_throws([&] { repetition(logits, int32s({-1}), 2.0); }, OPD_OUT_OF_RANGE, "token_ids is -1");
  expect_throws([&] { repetition(logits, int64s({0}), 2.0); }, OPD_INVALID_ARGUMENT,
                "token_ids must be of dtype int32");
  repetition(floats({1, 2}), int32s({0}), 0.5);  // less than 1 is a reward
  expect_throws([&] { repetition(logits, int32s({0}), 0.0); }, OPD_INVALID_ARGUMENT, "penalty must be greater than 0");
  expect_throws(
      [&] {
        presence(logits, int32s({0}), int32s({1, 2}), 1.0, 1.0);
      },
      OPD_INVALID_ARGUMENT, "token_freqs must have an element for each of the 1 token_ids, but has 2");
  expect_throws([&] { presence(logits, int32s({0}), int32s({1}), INFINITY, 1.0); }, OPD_INVALID_ARGUMENT,
                "presence_penalty must be finite");
  expect_throws([&] { builtin("apply_softmax_with_temperature")(logits, 0.0); }, OPD_INVALID_ARGUMENT,
                "temperature must be greater than 0");
  EXPECT_EQ(to_floats(arg(logits)), (std::vector<float>{1, 2}));
}

// 1 of 2 for the first token, and 2^-12 for each of 2048 more. top_p / 1024 is more than that, so they are looked at
// only when the first token is not enough.
TEST(Sampling, TokensOfLittleProbabilityAreTakenIfTheOthersAreTooFew) {
  std::vector<float> numbers(2049, 0x1p-12f);
  numbers[0] = .5f;
  const auto of = [&](double top_p, double uniform) {
    return builtin("sample_top_p_from_prob")(floats(numbers), top_p, uniform).view().u.int64;
  };
  EXPECT_EQ(of(.75, .5), 0);
  EXPECT_EQ(of(.75, .7), 103);      // of the 1024 that are kept: (0.7 * 0.75 - 0.5) * 4096 = 102.4
  EXPECT_EQ(of(.75, .9999), 1024);  // of 1 + 1024 tokens
  numbers.erase(numbers.begin());
  EXPECT_EQ(of(.9, 0), 0) << "no token is likely";
}

TEST(Sampling, TokensWithoutProbabilityAreStillTokens) {
  const auto of = [](const std::vector<float> &numbers, double top_p, double uniform) {
    return builtin("sample_top_p_from_prob")(floats(numbers), top_p, uniform).view().u.int64;
  };
  EXPECT_EQ(of({0}, .5, .5), 0);
  EXPECT_EQ(of({-1, 0, -1}, 1, .5), 1);
  EXPECT_EQ(of({-1, 1, -1}, 2, 1), 1) << "a negative one is none";
}

TEST(Sampling, TemperatureNearZeroPicksTheLargestLogit) {
  const auto of = [](double temperature) {
    return builtin("sample_top_p_from_logits")(floats({-INFINITY, 0, 0}), temperature, 1.0, .9).view().u.int64;
  };
  EXPECT_EQ(of(9e-7), 1);
  EXPECT_EQ(of(double{1e-6f}), 2) << "from here on, it is a distribution";
  EXPECT_EQ(of(1), 2);
}

TEST(Sampling, TakesNumbersFromZeroToOne) {
  for (const double uniform : {0.0, 1.0}) {
    EXPECT_EQ(from_logits(1, 0, uniform), 1);
    EXPECT_EQ(from_prob(0, uniform), 1);
  }
  for (const double uniform : {-1e-9, 1 + 1e-9}) {
    expect_throws([&] { from_logits(1, 1, uniform); }, OPD_OUT_OF_RANGE, "uniform_sample must be from 0 to 1");
    expect_throws([&] { from_prob(1, uniform); }, OPD_OUT_OF_RANGE, "uniform_sample must be from 0 to 1");
  }
  expect_throws([] { from_prob(-1e-9, .5); }, OPD_OUT_OF_RANGE, "top_p must not be negative, but is -");
  expect_throws([] { from_prob(NAN, .5); }, OPD_INVALID_ARGUMENT, "top_p must be finite, but is nan");
  expect_throws([] { from_prob(1, INFINITY); }, OPD_INVALID_ARGUMENT, "uniform_sample must be finite, but is inf");
}

TEST(Sampling, MultinomialRefusesBadShapesAndDtypes) {
  const auto multinomial = builtin("multinomial_from_uniform");
  const auto refused = [&](const Tensor &prob, const Tensor &sample, const char *part) {
    expect_throws([&] { multinomial(prob, sample); }, OPD_INVALID_ARGUMENT, part);
  };
  refused(floats({1, 0}, {1, 2}), floats({NAN}), "element 0 of uniform_sample is NaN");
  refused(floats({1, 0}, {1, 2}), int32s({0}), "uniform_sample must be of dtype float32, but is int32[1]");
  refused(int32s({1, 0}, {1, 2}), floats({0}), "prob must be of dtype float32, but is int32[1, 2]");
  refused(floats({}, {0, 2}), floats({}), "prob must be of rank 2 and not empty, but is float32[0, 2]");
  refused(floats({1, 0, 0, 1}, {1, 2, 2}), floats({0}), "prob must be [batch, vocabulary], but is float32[1, 2, 2]");
  const Value last = multinomial(floats({.25f, .25f, .25f, .5f}, {2, 2}), floats({.5f, .75f}));
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(last)), (std::vector<int64_t>{1, 1})) << "none exceeds it: the last token";
  const Value next = multinomial(floats({.25f, .25f, .5f}, {1, 3}), floats({.25f}));
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(next)), (std::vector<int64_t>{1})) << "0.25 does not exceed 0.25";
}

TEST(Penalties, RefuseBadShapesAndNumbersThatAreNotFinite) {
  const auto softmax = builtin("apply_softmax_with_temperature"), repetition = builtin("apply_repetition_penalty"),
             presence = builtin("apply_presence_and_frequency_penalty");
  for (const float x : {INFINITY, -INFINITY})
    expect_throws(
        [&] {
          softmax(floats({x, -INFINITY}), 1.0);
        },
        OPD_INVALID_ARGUMENT, std::string("the greatest of logits must be finite, but is ") + (x > 0 ? "inf" : "-inf"));
  expect_throws([&] { softmax(floats({1}), NAN); }, OPD_INVALID_ARGUMENT, "temperature must be finite, but is nan");
  expect_throws([&] { softmax(floats({1}), -1.0); }, OPD_INVALID_ARGUMENT,
                "temperature must be greater than 0, but is -1");
  for (const Tensor &logits : {floats({}, {0}), floats({1, NAN})}) {
    const char *const part = logits.size() ? "element 1 of logits is NaN" : "logits must not be empty";
    expect_throws([&] { softmax(logits, 1.0); }, OPD_INVALID_ARGUMENT, part);
    expect_throws([&] { repetition(logits, int32s({0}), 1.0); }, OPD_INVALID_ARGUMENT, part);
    expect_throws([&] { presence(logits, int32s({0}), int32s({1}), 1.0, 1.0); }, OPD_INVALID_ARGUMENT, part);
  }
  const Tensor two = floats({1, 2});
  expect_throws([&] { repetition(two, int32s({0}), INFINITY); }, OPD_INVALID_ARGUMENT, "penalty must be finite");
  expect_throws([&] { repetition(two, int32s({0}), -2.0); }, OPD_INVALID_ARGUMENT,
                "penalty must be greater than 0, but is -2");
  expect_throws([&] { presence(two, int32s({0}), int32s({1}), 1.0, NAN); }, OPD_INVALID_ARGUMENT,
                "frequency_penalty must be finite");
  expect_throws([&] { presence(two, int32s({2}), int32s({1}), 1.0, 1.0); }, OPD_OUT_OF_RANGE,
                "element 0 of token_ids is 2, but logits have 2 elements");
  expect_throws([&] { presence(two, int32s({0}), floats({1}), 1.0, 1.0); }, OPD_INVALID_ARGUMENT,
                "token_freqs must be of dtype int32, but is float32[1]");
  repetition(two, int32s({}, {0}), 2.0), presence(two, int32s({}, {0}), int32s({}, {0}), 2.0, 2.0);
  EXPECT_EQ(to_floats(arg(two)), (std::vector<float>{1, 2})) << "no token is penalised";
}
