// How often a diff errs, and how often it finds what is there, by simulation. Seeds are fixed: the rates are the same
// in every run. Sizes are chosen so that a rate's standard error is about 1 %; sanitizers get a tenth.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "stats/diff.h"
#include "support/noise.h"

namespace opd {
namespace {

#if defined(OPDYNO_ADDRESS_SANITIZER) || defined(OPDYNO_THREAD_SANITIZER) || !defined(NDEBUG)
constexpr int kDivisor = 10;
#else
constexpr int kDivisor = 1;
#endif

// Makes the noise of one operator's runs, in the order in time.
using Series = std::function<std::vector<double>(Noise &, size_t)>;

Series independent(double (*draw)(Noise &)) {
  return [draw](Noise &noise, size_t runs) {
    std::vector<double> values(runs);
    for (double &value : values) value = draw(noise);
    return values;
  };
}
Series autoregressive(double phi) {
  return [phi](Noise &noise, size_t runs) {
    std::vector<double> values(runs);
    double last = noise.normal();  // of the stationary process
    for (double &value : values) value = last, last = phi * last + std::sqrt(1 - phi * phi) * noise.normal();
    return values;
  };
}

const Series kNormal = independent([](Noise &n) { return n.normal(); });
const Series kLognormal = independent([](Noise &n) { return (std::exp(n.normal()) - 1.6487) / 2.1612; });
const Series kExponential = independent([](Noise &n) { return -std::log(n.uniform()) - 1; });
const Series kBimodal =  // two frequencies of a processor, as far apart as ten times the scatter of each
    independent([](Noise &n) { return (n.uniform() < 0.7 ? -0.655 : 1.527) + 0.2 * n.normal(); });

// A machine that becomes slower, or faster, all the time.
const Series kDrift = [](Noise &noise, size_t runs) {
  std::vector<double> values(runs);
  const double slope = 3 * noise.normal() / static_cast<double>(runs);
  for (size_t i = 0; i < runs; ++i)
    values[i] = slope * (static_cast<double>(i) - static_cast<double>(runs) / 2) + noise.normal();
  return values;
};

// One run in ten was interrupted and took up to seven times as long.
const Series kInterrupted = independent([](Noise &n) {
  const double own = n.normal();
  return n.uniform() < 0.1 ? own + 300 * n.uniform() : own;
});

struct Setting {
  const char *name;
  Series series;
  size_t operators = 50, runs = 30;
  int diffs = 400;
  double slow = 0;            // the first operator's slowdown
  double shared = 0;          // share of the variance that all operators of a run have in common
  std::vector<double> times;  // of the operators in µs; 100 each unless given
};

struct Rates {
  double regression = 0;       // diffs that say so of an operator, or of the total, that did not change
  double false_discovery = 0;  // mean share of the operators named that did not change
  double found = 0;            // diffs that name the one that did
  double open = 0;             // share of all operators of which nothing can be said
};

Ref<Report> runs_of(const Setting &setting, Noise &noise, double slow) {
  constexpr double kScatter = 0.02;
  std::vector<std::vector<double>> values;
  for (size_t i = 0; i < setting.operators; ++i) values.push_back(setting.series(noise, setting.runs));
  const auto common = setting.series(noise, setting.runs);
  ReportBuilder builder;
  const size_t name = builder.column("Name"), duration = builder.column("Duration (us)"), run = builder.column("Run");
  for (size_t r = 0; r < setting.runs; ++r)
    for (size_t i = 0; i < setting.operators; ++i) {
      const double time = setting.times.empty() ? 100 : setting.times[i], factor = i == 0 ? 1 + slow : 1;
      const double own = std::sqrt(1 - setting.shared) * values[i][r] + std::sqrt(setting.shared) * common[r];
      builder.begin_row();
      builder.set(name, builder.text(concat("operator_", i)));
      builder.set(duration, Metric::of_number(MetricKind::kDuration, time * factor * (1 + kScatter * own)));
      builder.set(run, Metric::of_count(static_cast<int64_t>(r)));
    }
  return builder.finish();
}

Rates simulate(const Setting &setting) {
  Noise noise(20240517);
  Rates rates;
  const int diffs = std::max(20, setting.diffs / kDivisor);
  for (int i = 0; i < diffs; ++i) {
    const auto before = runs_of(setting, noise, 0), after = runs_of(setting, noise, setting.slow);
    const Report *const sides[] = {before.get(), after.get()};
    const auto diff = Diff::of_reports({sides, 1}, {sides + 1, 1}, {.min_effect = 0.001});
    int named = 0, wrong = 0, regressions = 0, open = 0;
    for (size_t k = 0; k < diff->operators.size(); ++k) {
      const Verdict verdict = diff->operators[k].verdict;
      const bool is_total = diff->operators[k].kind == DiffRow::kTotal,
                 is_slower = setting.slow > 0 && (k == 0 || is_total);
      const bool is_true = is_slower && verdict == Verdict::regression;
      const bool is_named = verdict == Verdict::regression || verdict == Verdict::improvement;
      named += is_named, wrong += is_named && !is_true, rates.found += is_true && k == 0;
      regressions += verdict == Verdict::regression && !is_true;
      open += verdict == Verdict::undecided;
    }
    rates.regression += regressions > 0;
    rates.false_discovery += named ? static_cast<double>(wrong) / named : 0;
    rates.open += open / static_cast<double>(diff->operators.size());
  }
  for (double *rate : {&rates.regression, &rates.false_discovery, &rates.found, &rates.open}) *rate /= diffs;
  std::printf("  %-34s %3zu operators %3zu runs: regression %.3f false %.3f found %.3f open %.3f\n", setting.name,
              setting.operators, setting.runs, rates.regression, rates.false_discovery, rates.found, rates.open);
  return rates;
}

// A rate of 5 % that is seen in so many diffs scatters: two standard errors of it.
double margin(int diffs) { return 2 * std::sqrt(0.05 * 0.95 / std::max(20, diffs / kDivisor)); }

const double found_margin = kDivisor > 1 ? 0.2 : 0;

void expect_calm(const Setting &setting) {
  const Rates rates = simulate(setting);
  EXPECT_LE(rates.regression, 0.05 + (kDivisor > 1 ? margin(setting.diffs) : 0)) << setting.name;
  EXPECT_LE(rates.false_discovery, 0.05 + margin(setting.diffs)) << setting.name;
}

Setting setting(const char *name, Series series, size_t operators = 50, size_t runs = 30, int diffs = 600) {
  return {name, std::move(series), operators, runs, diffs, 0, 0, {}};
}

TEST(DiffCalibration, EqualRunsRarelyGiveAVerdict) {
  expect_calm(setting("normal", kNormal, 50, 30, 800));  // lognormal noise has the same ranks, so the same rates
  expect_calm(setting("exponential", kExponential, 50, 30, 400));
  expect_calm(setting("bimodal", kBimodal, 50, 30, 600));
  expect_calm(setting("normal", kNormal, 50, 10));
}

TEST(DiffCalibration, AnOperatorOfMuchTimeIsNotNamedBecauseManyOthersChanged) {
  constexpr int kDiffs = 300;
  Setting before = setting("many changed", kNormal, 31, 20);
  before.times.assign(before.operators, 30);
  before.times[0] = 1000;
  Setting after = before;
  for (size_t i = 1; i < after.operators; ++i) after.times[i] *= i % 2 ? 1.1 : 0.9;
  Noise noise(7);
  const int diffs = std::max(20, kDiffs / kDivisor);
  int wrong = 0;
  for (int i = 0; i < diffs; ++i) {
    const auto old_runs = runs_of(before, noise, 0), new_runs = runs_of(after, noise, 0);
    const Report *const sides[] = {old_runs.get(), new_runs.get()};
    const auto diff = Diff::of_reports({sides, 1}, {sides + 1, 1}, {.min_effect = 0.001});
    for (const DiffOperator &one : diff->operators) {
      if (one.verdict != Verdict::regression && one.verdict != Verdict::improvement) continue;
      wrong += one.before_median > 500 && one.kind == DiffRow::kOperator;
      EXPECT_TRUE(one.low > 0 || one.high < 0) << one.name << " may not have changed at all";
    }
  }
  EXPECT_LE(wrong, (0.05 + margin(kDiffs)) * diffs);
}

TEST(DiffCalibration, AutocorrelatedRunsGiveNoMoreVerdicts) {
  expect_calm(setting("autocorrelation 0.2", autoregressive(0.2), 50, 30, 400));
  expect_calm(setting("autocorrelation 0.5", autoregressive(0.5), 50, 30, 400));
  expect_calm(setting("autocorrelation 0.5", autoregressive(0.5), 50, 10, 400));
  expect_calm(setting("autocorrelation 0.5", autoregressive(0.5), 1, 30, 4000));
  expect_calm(setting("autocorrelation 0.9", autoregressive(0.9), 50, 30, 400));
}

// A single operator has no others to tell how much its runs resemble each other. In both directions; the level is 5 %,
// and what few autocorrelated runs exceed it by is what docs/diff.md says.
TEST(DiffCalibration, AutocorrelatedRunsErrAsOftenAsTheTableSays) {
  const auto wrong = [](const char *name, const Series &series, size_t runs) {
    const Rates rates = simulate(setting(name, series, 1, runs, 1000));
    return rates.false_discovery;
  };
  for (const size_t runs : {5, 6, 8, 10, 15, 30}) {
    EXPECT_LE(wrong("independent", kNormal, runs), 0.05) << runs;
    EXPECT_LE(wrong("drift", kDrift, runs), 0.05) << runs;
    EXPECT_LE(wrong("autocorrelation 0.5", autoregressive(0.5), runs), 0.08 + margin(1000)) << runs;
  }
  for (const size_t runs : {15, 20, 30}) {
    EXPECT_LE(wrong("autocorrelation 0.9", autoregressive(0.9), runs), 0.05 + found_margin) << runs;
  }
}

// Plain Mann-Whitney finds it in every diff of 5 runs or more. An estimate of the autocorrelation with a margin found
// it in 60 % of those with 6 to 8 runs, and in 100 % of those with 5.
TEST(DiffCalibration, MoreRunsFindNoFewerChanges) {
  const double noise = kDivisor > 1 ? 0.1 : 0.012;  // of the simulation
  double before = 0;
  for (const size_t runs : {4, 5, 6, 7, 8, 10, 12, 15, 20, 30}) {
    Setting slow = setting("normal, 10 % slower", kNormal, 1, runs, 1000);
    slow.slow = 0.1;
    const double found = simulate(slow).found;
    EXPECT_GE(found, before - noise) << runs;
    EXPECT_GE(found, (runs < 5 ? 0.8 : runs < 8 ? 0.95 : runs < 10 ? 0.975 : 0.985) - noise) << runs;
    before = std::max(before, found);
  }
}

TEST(DiffCalibration, InterruptedRunsHideLittle) {
  expect_calm(setting("interrupted", kInterrupted, 1, 30, 1000));
  Setting slow = setting("interrupted", kInterrupted, 1, 30, 1000);
  slow.slow = 0.02;
  EXPECT_GE(simulate(slow).found, 0.75 - found_margin);
}

// A clock so coarse that it knows two times, and few new runs beside many old ones.
TEST(DiffCalibration, TiesAndUnevenSidesGiveNoMoreVerdicts) {
  for (const auto &[runs_after, high] : {std::pair{1, 0.02}, {2, 0.05}, {3, 0.2}, {4, 0.2}, {30, 0.2}}) {
    Noise noise(7);
    int regressions = 0;
    const int diffs = std::max(40, 400 / kDivisor);
    for (int i = 0; i < diffs; ++i) {
      const auto side = [&, share = high](int runs) {
        ReportBuilder builder;
        const size_t name = builder.column("Name"), us = builder.column("Duration (us)"), run = builder.column("Run");
        for (int r = 0; r < runs; ++r)
          for (int k = 0; k < 50; ++k) {
            builder.begin_row();
            builder.set(name, builder.text(concat("operator_", k)));
            builder.set(us, Metric::of_number(MetricKind::kDuration, noise.uniform() < share ? 11 : 10));
            builder.set(run, Metric::of_count(r));
          }
        return builder.finish();
      };
      const auto before = side(30), after = side(runs_after);
      const Report *const sides[] = {before.get(), after.get()};
      const auto diff = Diff::of_reports({sides, 1}, {sides + 1, 1}, {.min_effect = 0.001});
      regressions += diff->verdict() == Verdict::regression;
    }
    EXPECT_LE(regressions / static_cast<double>(diffs), 0.05 + margin(400)) << runs_after;
  }
}

// A whole machine slows down: the operators of a run have two thirds of their noise in common.
TEST(DiffCalibration, NoiseThatOperatorsShareGivesNoMoreVerdicts) {
  for (const Series &series : {kNormal, kExponential, autoregressive(0.5)}) {
    Setting shared = setting("shared", series, 50, 30, 400);
    shared.shared = 0.67;
    expect_calm(shared);
  }
}

// Chance alone bounds what any test can find. With 30 runs of 2 % normal noise a slowdown of 2 % lies
// 0.02 / (0.02 sqrt(2 / 30)) = 3.87 standard errors off. One operator must exceed 1.96 of them: 97 % do, for the best
// possible test. One of 50 equal ones must exceed 3.29 (5 % / 50 in both directions): 72 % at best. So the 5 % are
// shared out by time, and it is found where it costs most.
TEST(DiffCalibration, ASlowdownOfTwoPercentIsFoundInNineOfTenDiffs) {
  for (const auto &[name, series] : {std::pair{"normal", kNormal}, {"lognormal", kLognormal}, {"bimodal", kBimodal}}) {
    Setting slow = setting(name, series, 1, 30, 1000);
    slow.slow = 0.02;
    EXPECT_GE(simulate(slow).found, 0.9 - found_margin) << name;
    slow = setting(name, series, 50, 30, 400);
    slow.slow = 0.02;
    slow.times.assign(50, 20);
    slow.times[0] = 1000;  // half of the time
    EXPECT_GE(simulate(slow).found, 0.9 - found_margin) << name;
  }
}

TEST(DiffCalibration, ASlowdownOfOneOfFiftyEqualOperatorsTakesSixtyRuns) {
  Setting slow = setting("normal", kNormal, 50, 60, 200);
  slow.slow = 0.02;
  const Rates rates = simulate(slow);
  EXPECT_GE(rates.found, 0.9 - found_margin);
  EXPECT_LE(rates.false_discovery, 0.05 + margin(200));
}

}  // namespace
}  // namespace opd
