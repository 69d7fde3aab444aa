// What operators compute and move, through include/opdyno/roofline.h. The numbers of operations are written out beside
// each shape.
#include <opdyno/roofline.h>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

std::string row(const std::string &name, const std::string &shapes, double us = 1) {
  return R"({"Name":{"string":")" + name + R"("},"Argument Shapes":{"string":")" + shapes +
         R"x("},"Device":{"string":"cpu0"},"Duration (us)":{"microseconds":)x" + std::to_string(us) + "}}";
}
Report report_of(const std::string &rows) {
  const std::string json =
      "{\"calls\":[" + rows + R"(],"device_metrics":{},"configuration":{"Executor":{"string":"VM"}}})";
  Report report;
  check(opd_report_from_json(json.data(), json.size(), report.out()));
  return report;
}
Report roofline(const Report &report, double gflops = 0, double bandwidth = 0) {
  Report made;
  check(opd_report_add_roofline(report.get(), gflops, bandwidth, made.out()));
  return made;
}
double number(const Report &report, const char *column, size_t at = 0) {
  Value value;
  if (opd_error *error = opd_report_get(report.get(), OPD_REPORT_CALLS, at, column, value.out(), nullptr)) {
    opd_error_release(error);
    return -1;  // no such column
  }
  if (value.view().type == OPD_NONE) return -1;
  return value.view().type == OPD_INT ? static_cast<double>(value.view().u.int64) : value.view().u.float64;
}
double flop(const std::string &name, const std::string &shapes) {
  return number(roofline(report_of(row(name, shapes))), "FLOP");
}

TEST(Roofline, CountsOperationsOfTheUsualOperators) {
  EXPECT_EQ(flop("matmul", "float32[4, 784], float32[784, 256], float32[4, 256]"), 2.0 * 4 * 784 * 256);
  EXPECT_EQ(flop("matmul12", "float32[4, 784], float32[784, 256], float32[4, 256]"), 2.0 * 4 * 784 * 256);
  EXPECT_EQ(flop("NT_matmul", "float32[4, 784], float32[256, 784], float32[4, 256]"), 2.0 * 4 * 784 * 256);
  EXPECT_EQ(flop("batch_matmul", "float32[8, 4, 6], float32[8, 6, 5], float32[8, 4, 5]"), 2.0 * 8 * 4 * 6 * 5);
  EXPECT_EQ(flop("fused_matmul_add_relu1", "float32[4, 16], float32[16, 8], float32[8], float32[4, 8]"),
            2.0 * 4 * 16 * 8 + 4 * 8 + 4 * 8);
  // Each of 1*16*14*14 results: 8 channels of 3 by 3.
  EXPECT_EQ(flop("conv2d", "float32[1, 8, 16, 16], float32[16, 8, 3, 3], float32[1, 16, 14, 14]"),
            2.0 * 16 * 14 * 14 * 8 * 3 * 3);
  // The same with channels last (NHWC, HWIO).
  EXPECT_EQ(flop("conv2d", "float32[1, 16, 16, 8], float32[3, 3, 8, 16], float32[1, 14, 14, 16]"),
            2.0 * 16 * 14 * 14 * 8 * 3 * 3);
  // Each of 1*8*4*4 elements meets 6 channels of 3 by 3.
  EXPECT_EQ(flop("conv2d_transpose", "float32[1, 8, 4, 4], float32[8, 6, 3, 3], float32[1, 6, 6, 6]"),
            2.0 * 8 * 4 * 4 * 6 * 3 * 3);
  EXPECT_EQ(flop("add", "float32[4, 8], float32[8], float32[4, 8]"), 32);
  EXPECT_EQ(flop("relu6", "float32[10], float32[10]"), 10);
  EXPECT_EQ(flop("mean", "float32[4, 8], float32[4]"), 32);
  EXPECT_EQ(flop("transpose", "float32[4, 8], float32[8, 4]"), 0);
  EXPECT_EQ(flop("mystery", "float32[4, 8], float32[8, 4]"), -1);
  EXPECT_EQ(flop("vm.builtin.add", "float32[4, 8]"), -1);
  EXPECT_EQ(flop("add", "no shape at all"), 1) << "text that is no shape counts as a number";
  EXPECT_EQ(flop("matmul", ""), -1);
}

// Of tensors of 6, 12 and 4 elements, the last of which is the result: an operator does so many operations for each
// element of the result, or of the largest.
TEST(Roofline, CountsTheOperationsOfEachWord) {
  const std::string shapes = "float32[2, 3], float32[3, 4], float32[2, 2]";
  const auto expect = [&](std::initializer_list<const char *> words, double operations) {
    for (const char *word : words) {
      EXPECT_EQ(flop(word, shapes), operations) << word;
      EXPECT_EQ(flop(std::string("fused_") + word + "_mystery", shapes), operations) << word;
    }
  };
  expect({"add",      "subtract", "sub",  "multiply", "mul", "divide", "div", "maximum", "minimum", "power",  "relu",
          "negative", "abs",      "sqrt", "exp",      "log", "tanh",   "erf", "leaky",   "bias",    "square", "cumsum"},
         4);
  expect({"clip", "rsqrt"}, 2 * 4);
  expect({"sigmoid"}, 3 * 4);
  expect({"silu", "softmax"}, 4 * 4);
  expect({"gelu", "norm"}, 5 * 4);
  expect({"sum", "mean", "max", "min", "prod", "pool", "pool1d", "pool2d", "pool3d", "argmax", "argmin"}, 12);
  expect({"variance"}, 3 * 12);
  expect({"transpose", "reshape", "concatenate", "split", "take", "gather", "cast", "copy", "pad", "flatten", "expand",
          "dims", "slice", "squeeze", "broadcast"},
         0);
  expect({"matmul", "dense", "gemm", "linear", "bmm"}, 2 * 4 * 3);
  EXPECT_EQ(flop("fused_add1_relu2", shapes), 4 + 4);
  EXPECT_EQ(flop("addition", shapes), -1);
}

TEST(Roofline, NeedsTheTensorsOfProductsAndConvolutions) {
  EXPECT_EQ(flop("matmul", "float32[2, 3], float32[3, 4]"), -1);
  EXPECT_EQ(flop("matmul", "float32[], float32[3, 4], float32[4]"), -1);
  EXPECT_EQ(flop("matmul", "float32[3], float32[3, 4], float32[4]"), 2 * 4 * 3);
  EXPECT_EQ(flop("matmul", "float32[5], float32[3, 4], float32[4]"), 2 * 4 * 5) << "there is no other dimension";
  EXPECT_EQ(flop("matmul", "float32[3, 2], float32[3, 4], float32[2, 4]"), 2 * 8 * 3) << "the first is transposed";
  EXPECT_EQ(flop("matmul", "float32[3, 2], float32[4, 3], float32[2, 4]"), 2 * 8 * 3) << "both are";
  EXPECT_EQ(flop("conv1d", "float32[1, 2, 9], float32[4, 2, 3], float32[1, 4, 7]"), 2 * 28 * (24 / 4));
  EXPECT_EQ(flop("conv3d", "float32[1, 2, 4, 4, 4], float32[5, 2, 2, 2, 2], float32[1, 5, 3, 3, 3]"),
            2 * 135 * (80 / 5));
  EXPECT_EQ(flop("conv2d", "float32[1, 2, 9], float32[4, 2], float32[1, 4]"), -1);
  EXPECT_EQ(flop("conv1d", "float32[1, 2, 9], float32[4, 2, 3], float32[1, 4]"), -1);
  EXPECT_EQ(flop("conv1d", "float32[1, 2, 9], float32[0, 2, 3], float32[1, 0, 7]"), -1) << "no channel";
  EXPECT_EQ(flop("conv1d_transpose", "float32[1, 2, 9], float32[2, 4, 3], float32[1, 4, 11]"), 2 * 18 * (24 / 2));
  EXPECT_EQ(flop("conv1d_transpose", "float32[1, 2, 9], float32[0, 4, 3], float32[1, 4, 11]"), 0)
      << "the word after it alone is known";
}

// 24 bytes each of two tensors, and half of a byte for each of five elements.
TEST(Roofline, CountsTheBytesOfAllTensors) {
  const auto bytes = [](const std::string &shapes) {
    return number(roofline(report_of(row("add", shapes))), "Tensors (bytes)");
  };
  EXPECT_EQ(bytes("float32[2, 3], float32x2[3]"), 24 + 24);
  EXPECT_EQ(bytes("float16[2], int4[6]"), 4 + 3);
  EXPECT_EQ(bytes("float32[]"), 4);
  EXPECT_EQ(bytes("unknown[2]"), -1);
}

TEST(Roofline, HasNoCountsForImpossibleShapes) {
  const std::string huge = "float32[100000000000, 100000000000]";
  const Report report = roofline(report_of(row("matmul", huge + ", " + huge + ", " + huge)));
  EXPECT_EQ(number(report, "FLOP"), -1);
  EXPECT_EQ(number(report, "Tensors (bytes)"), -1);
  EXPECT_EQ(flop("add", "float32[100000000000000000000000], float32[1]"), 1) << "of the result";
  EXPECT_EQ(flop("add", "float32[-2], float32[-2]"), -1);
}

TEST(Roofline, AsksFunctionsOfTheUserFirst) {
  define("opdyno.flop.mystery", [](const opd_value *args, int32_t num_args, opd_value *result) {
    EXPECT_EQ(num_args, 1);
    EXPECT_STREQ(args[0].u.cstring, "float32[4]");
    *result = opd_float(77);
  });
  EXPECT_EQ(flop("mystery3", "float32[4]"), 77);
  define("opdyno.flop.mystery", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no idea"); });
  Report none;
  expect_error(opd_report_add_roofline(report_of(row("mystery", "float32[4]")).get(), 0, 0, none.out()),
               OPD_CALL_FAILED, "no idea");
  check(opd_function_remove_global("opdyno.flop.mystery"));
}

TEST(Roofline, RelatesSpeedToTheLowerOfTheTwoRoofs) {
  // 2*4*16*8 = 1024 operations in 2 us are 0.512 GFLOP/s; 64+128+32 floats are 896 bytes.
  const std::string matmul = row("matmul", "float32[4, 16], float32[16, 8], float32[4, 8]", 2);
  const Report report = roofline(report_of(matmul + "," + row("mystery", "float32[2]")), 100, 7);
  EXPECT_EQ(number(report, "Tensors (bytes)"), 896);
  EXPECT_NEAR(number(report, "GFLOP/s"), 0.512, 1e-12);
  EXPECT_NEAR(number(report, "Arithmetic Intensity (FLOP/byte)"), 1024.0 / 896, 1e-12);
  EXPECT_NEAR(number(report, "Percent of Peak"), 0.512 / (7 * 1024.0 / 896) * 100, 1e-9) << "memory is the lower roof";
  EXPECT_NEAR(number(roofline(report_of(matmul), 1, 7), "Percent of Peak"), 51.2, 1e-9);
  EXPECT_EQ(number(report, "FLOP", 1), -1);
  Value value;
  check(opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, "Peak GFLOP/s", value.out(), nullptr));
  EXPECT_EQ(value.view().u.float64, 100);
  check(opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, "Executor", value.out(), nullptr));
  EXPECT_EQ(value.to_string(), "\"VM\"");
  EXPECT_EQ(number(report, "Duration (us)"), 2) << "what the report had is still there";
  Report none;
  expect_error(opd_report_add_roofline(report.get(), 0, 0, none.out()), OPD_ALREADY_EXISTS, "\"FLOP\" already");
  expect_error(opd_report_add_roofline(report.get(), 0, 7, none.out()), OPD_INVALID_ARGUMENT, "both be positive");
}

// The first call was below the clock's resolution and has no rate; its operations count all the same: 1024 + 1024 in
// 2 us are 1.024 GFLOP/s.
TEST(Roofline, RatesIncludeCallsTooShortToMeasure) {
  const std::string shapes = "float32[4, 16], float32[16, 8], float32[4, 8]";
  const Report report = roofline(report_of(row("matmul", shapes, 0) + "," + row("matmul", shapes, 2)), 100, 7);
  EXPECT_EQ(number(report, "GFLOP/s", 0), -1);
  EXPECT_NE(report.table().find("  2048        1  "), std::string::npos) << report.table();
  EXPECT_EQ(report.table().find("0.51"), std::string::npos) << report.table();
}

// 2 * 2 * 2 * 2 = 16 operations on three tensors of 16 bytes, in 4 us: 0.004 GFLOP/s of min(10, 3 * 16 / 48).
TEST(Roofline, KeepsAllElseOfTheReport) {
  const std::string matmul =
      R"x("Name":{"string":"matmul"},"Argument Shapes":{"string":"float32[2, 2], float32[2, 2], float32[2, 2]"},)x"
      R"x("Duration (us)":{"microseconds":4},"Note":{"string":"new"})x";
  const std::string rest = R"x("Name":{"string":"(dispatch)"},"Duration (us)":{"microseconds":8},)x"
                           R"x("Row Kind":{"string":"dispatch"})x";
  const std::string more = R"x(],"device_metrics":{"cpu0":{"Governor":{"string":"fast"},"Count":{"count":2}},)x"
                           R"x("cuda1":{"Load":{"percent":50}}},"configuration":{)x";
  const auto parsed = [](const std::string &json) { return Report::from_json(json); };
  const Report report = parsed(R"x({"calls":[{)x" + matmul + "},{" + rest + "}" + more +
                               R"x("Executor":{"string":"VM"}},"other":[1,{"a":2}]})x");
  const Report expected =
      parsed(R"x({"calls":[{)x" + matmul +
             R"x(,"Tensors (bytes)":{"count":48},"FLOP":{"count":16},"GFLOP/s":{"ratio":0.004},)x"
             R"x("Arithmetic Intensity (FLOP/byte)":{"ratio":0.33333333333333331},)x"
             R"x("Percent of Peak":{"percent":0.4}},{)x" +
             rest + "}" + more +
             R"x("Peak GFLOP/s":{"ratio":10},"Peak Bandwidth (GB/s)":{"ratio":3},"Executor":{"string":"VM"}},)x"
             R"x("other":[1,{"a":2}]})x");
  EXPECT_EQ(roofline(report, 10, 3).json(), expected.json());
}

TEST(Roofline, HasTheBytesThatTheReportHasAlready) {
  const Report made =
      roofline(Report::from_json(R"x({"calls":[{"Name":{"string":"add"},"Argument Shapes":{"string":"float32[4]"},)x"
                                 R"x("Tensors (bytes)":{"count":5}}]})x"));
  EXPECT_EQ(number(made, "Tensors (bytes)"), 5);
  EXPECT_EQ(number(made, "FLOP"), 4);
  EXPECT_EQ(number(made, "GFLOP/s"), -1) << "without a time";
  EXPECT_EQ(number(made, "Arithmetic Intensity (FLOP/byte)"), 4.0 / 16) << "of the shapes";
  EXPECT_EQ(number(made, "Percent of Peak"), -1);
}

TEST(Roofline, MeasuresThePeakOfTheMachine) {
  opd_machine_peak peak = {};
  expect_error(opd_machine_measure_peak(&peak), OPD_INVALID_ARGUMENT, "struct_size");
  peak.struct_size = sizeof peak;
  check(opd_machine_measure_peak(&peak));
  EXPECT_EQ(peak.num_threads, opd_threads_count());
  EXPECT_GT(peak.gflops, 0);
  EXPECT_GT(peak.bandwidth_gbps, 0);
  EXPECT_GE(peak.spread, 0);
}

}  // namespace
