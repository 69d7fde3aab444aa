// The pieces of what `opdyno bench` prints, and the sizes that it sweeps over.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/bench/bench.h"
#include "diff_report.h"

namespace opd::cli {

namespace {

TEST(BenchText, TimesHaveAFittingUnit) {
  const std::pair<double, const char *> times[] = {
      {0, "0.0 ns"},      {9.99e-7, "999.0 ns"}, {1e-6, "1.000 us"}, {9.99e-4, "999.000 us"},
      {1e-3, "1.000 ms"}, {0.999, "999.000 ms"}, {1, "1.000 s"},     {90, "90.000 s"}};
  for (const auto &[seconds, text] : times) EXPECT_EQ(time_text(seconds), text) << seconds;
}

TEST(BenchText, RatesHaveThreeDigitsOrAllOfWholeNumbers) {
  EXPECT_EQ(rate_text(0.12345), "0.123");
  EXPECT_EQ(rate_text(99.94), "99.9");
  EXPECT_EQ(rate_text(100), "100");
  EXPECT_EQ(rate_text(1234.5678), "1235");
}

TEST(BenchText, AnIntervalMayBeUnknown) {
  opd_benchmark_stats stats{};
  stats.median_low = 1e-3, stats.median_high = 2e-3;
  EXPECT_EQ(interval_text(stats), "1.000 ms to 2.000 ms");
  stats.median_high = INFINITY;
  EXPECT_EQ(interval_text(stats), "unknown");
}

TEST(BenchText, MarksSettingsThatDisturbTimes) {
  EXPECT_EQ(machine_text({{"governor", "powersave", true}, {"turbo", "off", false}}),
            "  machine: governor powersave (!), turbo off\n");
  EXPECT_EQ(machine_text({}), "  machine:\n");
}

TEST(BenchText, ColumnsAreAlignedAtTheirRight) {
  EXPECT_EQ(columns_text({{"n", "median", ""}, {"1", "20 us", "(noisy)"}, {"1000", "3 us", ""}}),
            "     n  median\n     1   20 us  (noisy)\n  1000    3 us\n");
}

std::string swept(const std::vector<std::string> &options) {
  static const Option sweep{"sweep", 0, "NAME=SIZES", "", true};
  std::vector<std::string> words;
  for (const std::string &option : options) words.push_back(cat("--sweep=", option));
  try {
    std::string text;
    for (const Sizes &sizes : sweep_of(Args::parse(words, {&sweep})))
      text += cat(text.empty() ? "" : "; ", sizes_text(sizes));
    return text;
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), Exit::usage);
    return failure.what();
  }
}

TEST(ASweep, HasAllCombinationsOfItsSizes) {
  EXPECT_EQ(swept({}), "") << "one row without sizes";
  EXPECT_EQ(swept({"n=8"}), "n=8");
  EXPECT_EQ(swept({"n=0,7,3"}), "n=0; n=7; n=3");
  EXPECT_EQ(swept({"n=1:3"}), "n=1; n=2; n=3");
  EXPECT_EQ(swept({"n=3:3"}), "n=3");
  EXPECT_EQ(swept({"n=16:64:16"}), "n=16; n=32; n=48; n=64");
  EXPECT_EQ(swept({"n=16:63:16"}), "n=16; n=32; n=48");
  EXPECT_EQ(swept({"n=1:8:x2,9"}), "n=1; n=2; n=4; n=8; n=9");
  EXPECT_EQ(swept({"n=1:7:x2"}), "n=1; n=2; n=4");
  EXPECT_EQ(swept({"a=1,2", "b=3,4"}), "a=1, b=3; a=1, b=4; a=2, b=3; a=2, b=4");
  EXPECT_EQ(swept({"n=9223372036854775806:9223372036854775807"}), "n=9223372036854775806; n=9223372036854775807");
}

TEST(ASweep, IsRefusedIfItIsInvalid) {
  for (const char *text :
       {"n", "=1", "n=", "n=1:", "n=x", "n=-1", "n=2:1", "n=1:2:0", "n=1:8:x1", "n=0:8:x2", "n=1:2:3:4", "n=1:2:x"})
    EXPECT_EQ(swept({text}),
              cat("option '--sweep' takes a name and sizes as n=1,8,64 or n=16:64:16 or n=1:64:x2, not '", text, "'"));
  EXPECT_EQ(swept({"n=1:3,2"}), "option '--sweep n=1:3,2' names a size twice");
  EXPECT_EQ(swept({"n=1", "n=2"}), "option '--sweep' is given twice for n");
  EXPECT_EQ(swept({"n=1:1001"}), "option '--sweep n=1:1001' has more than 1000 sizes");
  EXPECT_TRUE(swept({"n=1:1000"}).ends_with("; n=1000"));
  EXPECT_EQ(swept({"a=1:40", "b=1:26"}), "the options --sweep have more than 1000 combinations");
  EXPECT_TRUE(swept({"a=1:40", "b=1:25"}).ends_with("; a=40, b=25"));
}

// 101 repeats of 0.125 s to 12.625 s: percentile p is the repeat of that number, counted from 0.
BenchRow row_of(Sizes sizes, int repeats = 101) {
  std::vector<double> seconds;
  for (int i = repeats; i > 0; --i) seconds.push_back(0.125 * i);
  BenchRow row{std::move(sizes), {"float32[4]", "a, \"b\""}, Benchmark::of(seconds)};
  opd_benchmark_stats &is = row.stats;
  is.min = 0.125e-6, is.median = 3e-6, is.mean = 4e-3, is.max = 5, is.std = 6e-7;
  is.median_low = 1e-6, is.median_high = 2e-3;
  is.outlier_count = 7, is.autocorrelation = 0.256, is.calls_per_second = 1234.5, is.warmup_count = 8, is.number = 9;
  is.is_noisy = 0, is.is_steady = 1;
  return row;
}

BenchResult result_of(std::vector<BenchRow> rows, bool is_sweep) {
  BenchResult result{"f,g", 2, {opdyno::defaults(opd_evaluator_options_init), is_sweep}, std::move(rows), {}, "board"};
  result.quality = {{"turbo", "on", true}, {"load", "1.00", false}};
  result.plan.options.repeat = 11, result.plan.options.steady_ms = 0;
  return result;
}

TEST(BenchForms, TheTextOfOneSizeHasAllFigures) {
  BenchResult result = result_of({}, false);
  result.rows.push_back(row_of({}));
  const std::string figures =
      "  min         125.0 ns\n"
      "  median      3.000 us\n"
      "  mean        4.000 ms\n"
      "  p95         12.000 s\n"
      "  p99         12.500 s\n"
      "  max          5.000 s\n"
      "  std         600.0 ns\n"
      "  calls/s      1234\n";
  const std::string interval = "  95 % interval of the median: 1.000 us to 2.000 ms\n";
  const std::string rest = "  outliers: 7, autocorrelation: 0.26\n  machine: turbo on (!), load 1.00\n";
  EXPECT_EQ(bench_text(result), "f,g: 11 repeats of 9 calls\n  warm-up: 8 calls\n" + figures + interval + rest);
  EXPECT_EQ(bench_changes(result), "");
  opd_benchmark_stats &is = result.rows[0].stats;
  is.is_noisy = 1;
  result.plan.options.cache_flush_bytes = 1536 << 10;
  EXPECT_EQ(bench_text(result),
            "f,g: 11 repeats of 9 calls\n  warm-up: 8 calls\n  cold: before each call 1.5 MiB were copied\n" + figures +
                interval + rest + "  Too noisy to say: the interval is wider than 5 % of the median.\n");
  is.is_device_time = 1;
  EXPECT_NE(bench_text(result).find("  warm-up: 8 calls\n  clock: the device's own\n  cold: "), std::string::npos);
  EXPECT_NE(bench_json(result).find("\"clock\":\"device\""), std::string::npos);
  is.is_device_time = 0;
  is.median_high = INFINITY, is.warmup_count = 1, is.number = 1;
  result.plan.options.cache_flush_bytes = 0, result.plan.options.repeat = 1, result.plan.options.concurrency = 2;
  result.plan.options.steady_ms = 1500;
  EXPECT_EQ(bench_text(result),
            "f,g: 1 repeat of 1 call by each of 2 threads\n  warm-up: 1 call, until their times were steady\n" +
                figures + rest + "  Too noisy to say: the repeats drift; more of them would help.\n");
  is.is_steady = 0, result.plan.options.concurrency = 1;
  EXPECT_EQ(
      bench_text(result),
      "f,g: 1 repeat of 1 call\n  warm-up: 1 call, not steady after 1.5 s (!): later calls may take another time; "
      "--warmup steady:TIME gives it longer\n" +
          figures + rest + "  Too noisy to say: the repeats drift; more of them would help.\n");
}

TEST(BenchForms, SixRepeatsAreTheLeast) {
  const std::string few = "  Too few repeats to say how far this can be relied on: 6 are the least.\n";
  EXPECT_TRUE(bench_text(result_of({row_of({}, 5)}, false)).ends_with(few));
  EXPECT_TRUE(bench_text(result_of({row_of({}, 6)}, false)).ends_with("  machine: turbo on (!), load 1.00\n"));
}

TEST(BenchForms, TheTextOfASweepHasARowForEachSize) {
  BenchResult result = result_of({row_of({{"n", 1}, {"m", 10}}), row_of({{"n", 200}, {"m", 3}})}, true);
  result.rows[1].stats.median_high = INFINITY, result.rows[1].stats.calls_per_second = 99.5;
  result.rows[1].stats.is_noisy = 1;
  const std::string noisy = "  Noisy: too few repeats for an interval, or it is wider than 5 % of the median.\n";
  const std::string head = "f,g: 11 repeats of each size", machine = "  machine: turbo on (!), load 1.00\n";
  // The longest interval has 20 letters.
  const std::string aligned =
      "    n   m    median         95 % interval       p99  calls/s\n"
      "    1  10  3.000 us  1.000 us to 2.000 ms  12.500 s     1234\n"
      "  200   3  3.000 us               unknown  12.500 s     99.5  (noisy)\n";
  EXPECT_EQ(bench_text(result), head + "\n" + aligned + "  warm-up: 16 calls\n" + machine + noisy);
  result.rows[1].stats.is_noisy = 0, result.rows[0].stats.is_steady = 0;
  result.plan.options.concurrency = 3, result.plan.options.steady_ms = 2000;
  result.plan.options.cache_flush_bytes = 64 << 20;
  const std::string quiet = aligned.substr(0, aligned.find("  (noisy)")) + "\n";
  EXPECT_EQ(
      bench_text(result),
      head + " by each of 3 threads\n" + quiet +
          "  warm-up: 16 calls, not steady after 2 s at n=1, m=10 (!): later calls may take another time; --warmup "
          "steady:TIME gives it longer\n  cold: before each call 64 MiB were copied\n" +
          machine);
  result.rows[1].stats.is_steady = 0;
  EXPECT_NE(bench_text(result).find(" at n=1, m=10; n=200, m=3 (!)"), std::string::npos);
}

DiffView change_of(double change, double low, double high) {
  return DiffReport()
      .row("call", "total", "regression", {{"Change", change}, {"Change Low", low}, {"Change High", high}})
      .view();
}

std::string repeats_in_us() {
  std::string text;
  for (int i = 101; i > 0; --i) text += cat(text.empty() ? "" : ",", 125000.0 * i);
  return text;
}

TEST(BenchForms, JsonHasEachMember) {
  const auto make_members = [](std::string_view interval, std::string_view steady, std::string_view noisy,
                               std::string_view compare) {
    return cat(
        "\"arguments\":[\"float32[4]\",\"a, "
        "\\\"b\\\"\"],\"number\":9,\"repeat\":11,\"clock\":\"host\",\"min_us\":0.125,"
        "\"median_us\":3,\"mean_us\":4000,\"p95_us\":",
        12e6, ",\"p99_us\":", 12.5e6, ",\"max_us\":", 5e6, ",\"std_us\":0.6,", interval,
        "\"calls_per_second\":1234.5,\"warmup_calls\":8,", steady,
        "\"outliers\":7,\"autocorrelation\":0.256,\"noisy\":", noisy, ",\"results_us\":[", repeats_in_us(), "]",
        compare);
  };
  BenchResult result = result_of({row_of({})}, false);
  const std::string interval = "\"median_low_us\":1,\"median_high_us\":2000,";
  const std::string quality = "\"quality\":{\"turbo\":\"on\",\"load\":\"1.00\"},";
  EXPECT_EQ(bench_json(result),
            cat("{\"function\":\"f,g\",\"machine\":\"board\",\"concurrency\":1,\"threads\":2,\"flushed_bytes\":0,",
                quality, make_members(interval, "", "false", ""), "}\n"));
  result.threads = 0, result.plan.options.steady_ms = 1, result.plan.options.concurrency = 4;
  result.plan.options.cache_flush_bytes = 4096;
  result.rows[0].stats.is_noisy = 1, result.rows[0].diff = change_of(0.5, 0.25, 0.75);
  EXPECT_EQ(bench_json(result),
            cat("{\"function\":\"f,g\",\"machine\":\"board\",\"concurrency\":4,\"flushed_bytes\":4096,", quality,
                make_members(interval, "\"steady\":true,", "true",
                             ",\"compare\":{\"verdict\":\"regression\",\"change\":0.5,\"interval\":[0.25,0.75]}"),
                "}\n"));
  result.rows[0].stats.median_high = INFINITY, result.rows[0].stats.is_steady = 0;
  result.rows[0].diff = change_of(NAN, NAN, NAN);
  result.plan.is_sweep = true, result.rows[0].sizes = {{"n", 3}, {"m", 4}};
  EXPECT_EQ(bench_json(result),
            cat("{\"function\":\"f,g\",\"machine\":\"board\",\"concurrency\":4,\"flushed_bytes\":4096,", quality,
                "\"rows\":[{\"sizes\":{\"n\":3,\"m\":4},",
                make_members("", "\"steady\":false,", "true", ",\"compare\":{\"verdict\":\"regression\"}"), "}]}\n"));
}

TEST(BenchForms, CsvHasAColumnForEachFigure) {
  const std::string head =
      ",number,repeat,min_us,median_us,mean_us,p95_us,p99_us,max_us,std_us,median_low_us,median_high_us,"
      "calls_per_second,warmup_calls,noisy";
  const std::string figures = cat(",9,11,0.125,3,4000,", 12e6, ",", 12.5e6, ",", 5e6, ",0.6,");
  BenchResult result = result_of({row_of({})}, false);
  EXPECT_EQ(bench_csv(result), "function" + head + "\n\"f,g\"" + figures + "1,2000,1234.5,8,0\n");
  result =
      result_of({row_of({{"n", 1}, {"a,b", 2}}), row_of({{"n", 3}, {"a,b", 4}}), row_of({{"n", 5}, {"a,b", 6}})}, true);
  result.rows[0].stats.median_high = INFINITY, result.rows[1].stats.is_noisy = 1;
  result.rows[0].diff = change_of(0.5, 0.25, 0.75), result.rows[1].diff = change_of(0.5, NAN, NAN);
  result.rows[2].diff = change_of(NAN, NAN, NAN);
  EXPECT_EQ(bench_csv(result), "function,n,\"a,b\"" + head + ",verdict,change,change_low,change_high\n\"f,g\",1,2" +
                                   figures + ",,1234.5,8,0,regression,0.5,0.25,0.75\n\"f,g\",3,4" + figures +
                                   "1,2000,1234.5,8,1,regression,0.5,,\n\"f,g\",5,6" + figures +
                                   "1,2000,1234.5,8,0,regression,,,\n");
}

TEST(BenchForms, ChangesStandBelowTheSizes) {
  BenchResult result = result_of({row_of({}), row_of({{"n", 1}})}, true);
  const DiffView change = change_of(0.5, 0.25, 0.75);
  result.rows[0].diff = result.rows[1].diff = change;
  const std::string table = change.table(TableStyle::text) + change.notes(TableStyle::text);
  EXPECT_EQ(bench_changes(result), "\n" + table + "\nn=1:\n" + table);
}

}  // namespace
}  // namespace opd::cli
