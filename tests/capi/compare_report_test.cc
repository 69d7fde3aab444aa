// The reports of opd_compare() as a whole: which operators correspond, what is said of each, and what caused the first
// difference. One file of over 600 lines, because all tests use the same small programs with one changed kernel.
#include <opdyno/compare.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <regex>

#include "support/opdyno_test.h"
#include "support/recording_files.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

// Kernels on four floats; the last argument is the output.
void define_kernels() {
  const auto each = [](const char *name, float (*of)(float a, float b)) {
    define(name, [of](const opd_value *args, int32_t count, opd_value *) {
      for (int i = 0; i < 4; ++i)
        elements(args[count - 1])[i] = of(elements(args[0])[i], count > 2 ? elements(args[1])[i] : 0);
    });
  };
  each("half", [](float a, float) { return a / 2; });
  each("halve", [](float a, float) { return a / 2; });
  for (const char *name : {"twice", "twice1", "twice7"}) each(name, [](float a, float) { return 2 * a + 1; });
  each("add", [](float a, float b) { return a + b; });
  each("add_wrong", [](float a, float b) { return a + b + 1; });
  each("relu", [](float a, float) { return std::max(a, 0.F); });
  each("add_relu", [](float a, float b) { return std::max(a + b, 0.F); });
  each("add_relu_wrong", [](float a, float b) { return std::max(a + b, 0.F) + 1; });
  each("same", [](float a, float) { return a; });
  define("fails", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("it always does"); });
}

std::string allocation(const std::string &value) {
  return "  %s" + value + " = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n  %" + value +
         " = call vm.builtin.alloc_tensor(%s" + value + ", 0, shape(4), dtype(float32))\n";
}

// Calls as "kernel operand … -> value"; the last value is the result.
Vm program(std::initializer_list<const char *> calls, const std::string &params = "x", const std::string &result = "") {
  std::string text = ".func main(" + params + ") {\n", last;
  for (const std::string call : calls) {
    std::istringstream words(call);
    std::string kernel, word, operands;
    for (words >> kernel; words >> word && word != "->";) operands += "%" + word + ", ";
    words >> last;
    text += allocation(last) + "  call " + kernel + "(" + operands + "%" + last + ")\n";
  }
  return vm_of(text + (result.empty() ? "  ret %" + last : result) + "\n}");
}

std::string text(const opdyno::Report &report, const char *entry) {
  Value value;
  if (opd_error *error = opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, entry, value.out(), nullptr)) {
    opd_error_release(error);
    return "";
  }
  return value.type() == OPD_INT ? value.to_string() : value.string();
}

opdyno::Report compared(const Vm &a, const Vm &b, const opd_compare_options *options = nullptr) {
  const Tensor x = floats({-1, 2, 3, 4});
  return opdyno::compare(a, b, "main", {arg(x)}, options, false).report;
}

// The rows, then the entries of the configuration that the comparison has made.
std::string shown(const opdyno::Report &report) {
  std::string out = report.csv();
  for (const char *entry : {"Verdict", "Equal", "First difference", "Cause", "Cause in A", "Failure of A",
                            "Failure of B", "Operators of A", "Operators of B", "Kept (bytes)", "Note"})
    if (const std::string value = text(report, entry); !value.empty()) out += std::string(entry) + ": " + value + "\n";
  return out;
}

class ComparisonReport : public testing::Test {
 protected:
  static void SetUpTestSuite() { define_kernels(); }
};

// x is -1, 2, 3, 4; half of it -0.5, 1, 1.5, 2; their sum -1.5, 3, 4.5, 6; without negative ones 0, 3, 4.5, 6; twice
// that and one 1, 7, 10, 13; half of it 0.5, 3.5, 5, 6.5. A's five values take 16 bytes each; those of B that are equal
// none.
Vm unfused() { return program({"half x -> h", "add h x -> s", "relu s -> r", "twice1 r -> t", "half t -> u"}); }

TEST_F(ComparisonReport, SaysHowOperatorsCorrespondIfAllValuesAgree) {
  const Vm fused = program({"halve x -> h", "add_relu h x -> r", "twice7 r -> t", "half t -> u"});
  EXPECT_EQ(
      shown(compared(unfused(), fused)),
      R"x(Argument Shapes,Argument Shapes in A,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,Name in A,State
"float32[4], float32[4]",,1,4,"agree","operator","value",0,0,0,"halve","half","equal"
"float32[4], float32[4], float32[4]",,1,,,"operator",,,,,"add",,"only in A"
"float32[4], float32[4], float32[4]","float32[4], float32[4]",1,4,"other","operator","value",0,0,0,"add_relu","relu","equal"
"float32[4], float32[4]",,1,4,"agree","operator","order",0,0,0,"twice7","twice1","equal"
"float32[4], float32[4]",,1,4,"agree","operator","name",0,0,0,"half",,"equal"
"float32[4]",,,4,,"result",,0,0,0,"(result 0)",,"equal"
Verdict: no difference: 4 operators agree bit for bit (without a counterpart: 1 of A, 0 of B)
Equal: 1
Operators of A: 5
Operators of B: 4
Kept (bytes): 80
)x");
}

// B has one more from the third value on: 1, 4, 5.5, 7; 3, 9, 12, 15; 1.5, 4.5, 6, 7.5.
TEST_F(ComparisonReport, NamesTheOperatorsThatAWrongFusedOneReplaces) {
  const Vm wrong = program({"half x -> h", "add_relu_wrong h x -> r", "twice1 r -> t", "half t -> u"});
  EXPECT_EQ(
      shown(compared(unfused(), wrong)),
      R"x(Argument Shapes,Argument Shapes in A,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,Name in A,State,Tolerance
"float32[4], float32[4]",,1,4,"agree","operator","name",0,0,0,"half",,"equal",
"float32[4], float32[4], float32[4]",,1,,,"operator",,,,,"add",,"only in A",
"float32[4], float32[4], float32[4]","float32[4], float32[4]",1,4,"other","operator","data flow",1,,4,"add_relu_wrong","relu","differs",1e-05
"float32[4], float32[4]",,1,4,"differ","operator","name",2,2,4,"twice1",,"differs",1.13e-05
"float32[4], float32[4]",,2,4,"differ","operator","name",1,2,4,"half",,"differs",1.065e-05
"float32[4]",,,4,,"result",,1,2,4,"(result 0)",,"differs",1.065e-05
Verdict: first difference at add_relu_wrong (in A: relu): max abs 1 (tolerance 1e-5), caused by add_relu_wrong (in A: add or relu), which read values that agree (without a counterpart: 1 of A, 0 of B)
Equal: 0
First difference: add_relu_wrong (in A: relu)
Cause: add_relu_wrong
Cause in A: add, relu
Operators of A: 5
Operators of B: 4
Kept (bytes): 128
)x");
  EXPECT_EQ(
      shown(compared(wrong, unfused())),
      R"x(Argument Shapes,Argument Shapes in A,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,Name in A,State,Tolerance
"float32[4], float32[4]",,1,4,"agree","operator","name",0,0,0,"half",,"equal",
"float32[4], float32[4], float32[4]",,1,,,"operator",,,,,"add",,"only in B",
"float32[4], float32[4]","float32[4], float32[4], float32[4]",1,4,"other","operator","data flow",1,1,4,"relu","add_relu_wrong","differs",1.13e-05
"float32[4], float32[4]",,1,4,"differ","operator","name",2,0.666667,4,"twice1",,"differs",1.39e-05
"float32[4], float32[4]",,2,4,"differ","operator","name",1,0.666667,4,"half",,"differs",1.195e-05
"float32[4]",,,4,,"result",,1,0.666667,4,"(result 0)",,"differs",1.195e-05
Verdict: first difference at relu (in A: add_relu_wrong): max abs 1 (tolerance 1.1e-5), caused by add or relu (in A: add_relu_wrong), which read values that agree (without a counterpart: 0 of A, 1 of B)
Equal: 0
First difference: relu (in A: add_relu_wrong)
Cause: add, relu
Cause in A: add_relu_wrong
Operators of A: 4
Operators of B: 5
Kept (bytes): 128
)x");
}

// The sum is one more: -0.5, 4, 5.5, 7; so 0, 4, 5.5, 7; 1, 9, 12, 15; 0.5, 4.5, 6, 7.5.
Vm with_wrong_sum() {
  return program({"half x -> h", "add_wrong h x -> s", "relu s -> r", "twice1 r -> t", "half t -> u"});
}

TEST_F(ComparisonReport, HasTheDistancesOfAllThatFollowAWrongOperator) {
  EXPECT_EQ(
      shown(compared(unfused(), with_wrong_sum())),
      R"x(Argument Shapes,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,Name in A,State,Tolerance
"float32[4], float32[4]",1,4,"agree","operator","name",0,0,0,"half",,"equal",
"float32[4], float32[4], float32[4]",1,4,"agree","operator","data flow",1,0.666667,4,"add_wrong","add","differs",1.195e-05
"float32[4], float32[4]",1,4,"differ","operator","name",1,0.333333,3,"relu",,"differs",1.39e-05
"float32[4], float32[4]",1,4,"differ","operator","name",2,0.285714,3,"twice1",,"differs",1.91e-05
"float32[4], float32[4]",2,4,"differ","operator","name",1,0.285714,3,"half",,"differs",1.455e-05
"float32[4]",,4,,"result",,1,0.285714,3,"(result 0)",,"differs",1.455e-05
Verdict: first difference at add_wrong (in A: add): max abs 1 (tolerance 1.2e-5), caused by add_wrong (in A: add) whose inputs agree
Equal: 0
First difference: add_wrong (in A: add)
Cause: add_wrong
Cause in A: add
Operators of A: 5
Operators of B: 5
Kept (bytes): 144
)x");
}

TEST_F(ComparisonReport, NamesTheFirstFourOfManyCauses) {
  const Vm one = program({"half x -> h", "add_relu h x -> r", "half r -> u"});
  const Vm many = program({"half x -> h", "same h -> a", "same a -> b", "same b -> c", "same c -> d",
                           "add_wrong d x -> s", "relu s -> r", "half r -> u"});
  EXPECT_EQ(
      shown(compared(one, many)),
      R"x(Argument Shapes,Argument Shapes in A,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,Name in A,State,Tolerance
"float32[4], float32[4]",,1,4,"agree","operator","name",0,0,0,"half",,"equal",
"float32[4], float32[4]",,1,,,"operator",,,,,"same",,"only in B",
"float32[4], float32[4]",,2,,,"operator",,,,,"same",,"only in B",
"float32[4], float32[4]",,3,,,"operator",,,,,"same",,"only in B",
"float32[4], float32[4]",,4,,,"operator",,,,,"same",,"only in B",
"float32[4], float32[4], float32[4]",,1,,,"operator",,,,,"add_wrong",,"only in B",
"float32[4], float32[4]","float32[4], float32[4], float32[4]",1,4,"other","operator","order",1,0.333333,3,"relu","add_relu","differs",1.39e-05
"float32[4], float32[4]",,2,4,"differ","operator","name",0.5,0.333333,3,"half",,"differs",1.195e-05
"float32[4]",,,4,,"result",,0.5,0.333333,3,"(result 0)",,"differs",1.195e-05
Verdict: first difference at relu (in A: add_relu): max abs 1 (tolerance 1.4e-5), caused by same (call 1 of 4), same (call 2 of 4), same (call 3 of 4), same (call 4 of 4) or 2 more (in A: add_relu), which read values that agree (without a counterpart: 0 of A, 5 of B)
Equal: 0
First difference: relu (in A: add_relu)
Cause: same (call 1 of 4), same (call 2 of 4), same (call 3 of 4), same (call 4 of 4), add_wrong, relu
Cause in A: add_relu
Operators of A: 3
Operators of B: 8
Kept (bytes): 96
)x");
}

TEST_F(ComparisonReport, NamesTheCallsThatMadeDifferentResults) {
  const auto returns = [](const char *value) {
    return program({"half x -> h", "add h x -> s"}, "x", std::string("  ret %") + value);
  };
  EXPECT_EQ(shown(compared(returns("h"), returns("s"))),
            R"x(Argument Shapes,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,State,Tolerance
"float32[4], float32[4]",1,4,"agree","operator","name",0,0,0,"half","equal",
"float32[4], float32[4], float32[4]",1,4,"agree","operator","name",0,0,0,"add","equal",
"float32[4]",,4,,"result",,4,2,4,"(result 0)","differs",1.26e-05
Verdict: first difference at result 0: max abs 4 (tolerance 1.3e-5), caused by add (in A: half) whose inputs agree
Equal: 0
First difference: result 0
Cause: add
Cause in A: half
Operators of A: 2
Operators of B: 2
Kept (bytes): 32
)x");
}

TEST_F(ComparisonReport, HasTheCallsBeforeAFailure) {
  const Vm fails = program({"half x -> h", "fails h x -> s"});
  EXPECT_EQ(shown(compared(unfused(), fails)),
            R"x(Argument Shapes,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,State
"float32[4], float32[4]",1,4,"agree","operator","name",0,0,0,"half","equal"
"float32[4], float32[4], float32[4]",1,,,"operator",,,,,"add","only in A"
"float32[4], float32[4]",1,,,"operator",,,,,"relu","only in A"
"float32[4], float32[4]",1,,,"operator",,,,,"twice1","only in A"
"float32[4], float32[4]",2,,,"operator",,,,,"half","only in A"
"float32[4]",,,,"result",,,,,"(result 0)","only in A"
Verdict: B fails: fails: it always does (called by main, instruction 5); before that, 1 operator agrees bit for bit
Equal: 0
Failure of B: fails: it always does (called by main, instruction 5)
Operators of A: 5
Operators of B: 1
Kept (bytes): 80
)x");
  EXPECT_EQ(shown(compared(fails, program({"half x -> h", "fails h x -> s"}))),
            R"x(Argument Shapes,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,State
"float32[4], float32[4]",1,4,"agree","operator","name",0,0,0,"half","equal"
Verdict: both fail: fails: it always does (called by main, instruction 5); before that, 1 operator agrees bit for bit
Equal: 0
Failure of A: fails: it always does (called by main, instruction 5)
Failure of B: fails: it always does (called by main, instruction 5)
Operators of A: 1
Operators of B: 1
Kept (bytes): 16
)x");
  EXPECT_EQ(shown(compared(fails, program({"half x -> h", "same h -> q", "fails q x -> s"}))),
            R"x(Argument Shapes,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,State
"float32[4], float32[4]",1,4,"agree","operator","name",0,0,0,"half","equal"
"float32[4], float32[4]",1,,,"operator",,,,,"same","only in B"
Verdict: A fails: fails: it always does (called by main, instruction 5); B fails: fails: it always does (called by main, instruction 8); before that, 1 operator agrees bit for bit
Equal: 0
Failure of A: fails: it always does (called by main, instruction 5)
Failure of B: fails: it always does (called by main, instruction 8)
Operators of A: 1
Operators of B: 2
Kept (bytes): 16
)x");
}

// Of A's five values and B's four others.
TEST_F(ComparisonReport, SaysHowManyValuesWereNotKept) {
  auto options = opdyno::defaults(opd_compare_options_init);
  options.keep_bytes = 48;
  EXPECT_EQ(shown(compared(unfused(), with_wrong_sum(), &options)),
            R"x(Argument Shapes,Call,Elements,Inputs,Kind,Matched By,Max Abs,Max Rel,Mismatches,Name,Name in A,State
"float32[4], float32[4]",1,4,"agree","operator","name",0,0,0,"half",,"equal"
"float32[4], float32[4], float32[4]",1,,"agree","operator","data flow",,,,"add_wrong","add","unknown"
"float32[4], float32[4]",1,,"differ","operator","name",,,,"relu",,"unknown"
"float32[4], float32[4]",1,,"differ","operator","name",,,,"twice1",,"unknown"
"float32[4], float32[4]",2,,"differ","operator","name",,,,"half",,"unknown"
"float32[4]",,,,"result",,,,,"(result 0)",,"unknown"
Verdict: undecided: 1 operator agrees, 1 of them bit for bit; of 4, values were not kept, and their bits differ
Equal: 0
Operators of A: 5
Operators of B: 5
Kept (bytes): 48
Note: 6 values were not kept, because the copies take the 48 bytes that they may: of these it is known only whether they are equal bit for bit
)x");
  const auto note = [&](uint64_t bytes) {
    options.keep_bytes = bytes;
    const opdyno::Report report = compared(unfused(), with_wrong_sum(), &options);
    return text(report, "Kept (bytes)") + " " + text(report, "Note").substr(0, 3);
  };
  EXPECT_EQ(note(47), "32 7 v") << "a third value does not fit";
  EXPECT_EQ(note(0), "0 10 ") << "not even the one that B has, too";
  EXPECT_EQ(note(144), "144 ");
  EXPECT_EQ(note(143), "128 1 v");
}

// Names have the number of the call among those of the kernel, and the place of the argument.
TEST_F(ComparisonReport, ComesWithTheTensorsAroundTheFirstDifference) {
  const ScratchDirectory scratch;
  const std::string directory = scratch.file("a/b");
  auto options = opdyno::defaults(opd_compare_options_init);
  options.save_directory = directory.c_str();
  const auto saved = [&](const char *side) {
    const opdyno::Params params = opdyno::Params::load(directory + "/" + side + ".npz");
    std::string out;
    for (size_t i = 0; i < params.size(); ++i) {
      out += std::string(params.name(i)) + "=";
      for (const float element : to_floats(Value::of(params.get_tensor(params.name(i)))))
        out += std::to_string(std::lround(element)) + " ";
    }
    return out;
  };
  compared(program({"add x x -> a", "add a x -> b"}), program({"add x x -> a", "add_wrong a x -> b"}), &options);
  EXPECT_EQ(saved("a"), "add#2/input_0=-2 4 6 8 add#2/input_1=-1 2 3 4 add#2/output_2=-3 6 9 12 ");
  EXPECT_EQ(saved("b"), "add_wrong/input_0=-2 4 6 8 add_wrong/input_1=-1 2 3 4 add_wrong/output_2=-2 7 10 13 ");
  const auto returns = [](const char *value) {
    return program({"same x -> a", "add a x -> b"}, "x", std::string("  ret %") + value);
  };
  compared(returns("a"), returns("b"), &options);
  EXPECT_EQ(saved("a"), "same/input_0=-1 2 3 4 same/output_1=-1 2 3 4 result=-1 2 3 4 ");
  EXPECT_EQ(saved("b"), "add/input_0=-1 2 3 4 add/input_1=-1 2 3 4 add/output_2=-2 4 6 8 result=-2 4 6 8 ");
  std::filesystem::remove_all(directory);
  compared(returns("b"), returns("b"), &options);
  EXPECT_FALSE(std::filesystem::exists(directory)) << "there is no difference";
}

// The names of B's operators with those of A that correspond, and how that was found; "-": there is none.
std::string pairs(const opdyno::Report &report) {
  std::string out;
  for (size_t row = 0; row < report.count(); ++row) {
    const auto cell = [&](const char *column) {
      Value value;
      if (opd_error *error = opd_report_get(report.get(), OPD_REPORT_CALLS, row, column, value.out(), nullptr))
        opd_error_release(error);
      return value.type() == OPD_NONE ? "" : value.type() == OPD_INT ? value.to_string() : value.string();
    };
    if (cell("Kind") == "result") continue;
    const std::string name = cell("Name") + cell("Call"), in_a = cell("Name in A"), state = cell("State");
    out +=
        name + (state.starts_with("only") ? " " + state : (in_a.empty() ? "" : "=" + in_a) + " " + cell("Matched By"));
    out += state == "differs" ? " differs; " : "; ";
  }
  return out;
}

// Operators that one of them lacks are found by the fewest edits, wherever they stand.
TEST_F(ComparisonReport, FindsAddedAndRemovedOperators) {
  const Vm a = program({"half x -> a", "same a -> b", "relu b -> c", "half c -> d", "same d -> e", "twice e -> f"});
  const Vm b = program(
      {"relu x -> z", "half x -> a", "same a -> b", "half b -> d", "same d -> e", "relu e -> y", "twice y -> f"});
  EXPECT_EQ(pairs(compared(a, b)),
            "relu1 name differs; half1 name; same1 name; half2 name differs; same2 name differs; relu2 only in B; "
            "twice1 name; ");
  EXPECT_EQ(pairs(compared(b, a)),
            "half1 name; same1 name; relu1 name differs; half2 name differs; same2 name differs; relu2 only in A; "
            "twice1 name; ");
}

// Both sides call the same kernel three times on other values, in another order; their values tell which is which.
TEST_F(ComparisonReport, PairsCallsOfAKernelByTheirValues) {
  const Vm a = program({"half x -> a", "half a -> b", "half b -> c", "add a b -> d", "add d c -> e"});
  const Vm b = program({"half x -> a", "half a -> b", "half b -> c", "add b a -> d", "add c d -> e"});
  EXPECT_EQ(pairs(compared(a, b)), "half1 name; half2 name; half3 name; add1 name; add2 name; ");
  const Vm one = program({"same x -> p", "twice x -> q", "half p -> a", "half q -> b", "add a b -> c"});
  const Vm other = program({"same x -> p", "twice x -> q", "half q -> b", "half p -> a", "add a b -> c"});
  EXPECT_EQ(pairs(compared(one, other)), "same1 name; twice1 name; half1 value; half2 value; add1 name; ");
  const Vm wrong = program({"same x -> p", "twice x -> q", "half q -> b", "half p -> a", "add_wrong a b -> c"});
  EXPECT_EQ(text(compared(one, wrong), "Verdict"),
            "first difference at add_wrong (in A: add): max abs 1 (tolerance 1.1e-5), caused by add_wrong (in A: add) "
            "whose inputs agree");
}

TEST_F(ComparisonReport, KeepsPairsWithoutEqualValues) {
  const Vm a = program({"add x x -> a", "half a -> b", "half b -> c"});
  const Vm b = program({"add_wrong x x -> a", "half a -> b", "half b -> c"});
  EXPECT_EQ(pairs(compared(a, b)), "add_wrong1=add data flow differs; half1 name differs; half2 name differs; ");
}

// Nobody says which arguments are outputs: one that a call writes in the place of another is.
TEST_F(ComparisonReport, PairsAnInPlaceCallWithAnOutOfPlaceCall) {
  const auto in_place = [](const char *kernel) {
    return program({"half x -> h"}, "x",
                   std::string("  call ") + kernel + "(%h, %h)\n" + allocation("t") + "  call twice(%h, %t)\n  ret %t");
  };
  const Vm apart = program({"half x -> h", "relu h -> r", "twice r -> t"});
  for (const opdyno::Report &report : {compared(in_place("relu"), apart), compared(apart, in_place("relu"))}) {
    EXPECT_EQ(text(report, "Verdict"), "no difference: 3 operators agree bit for bit");
    EXPECT_EQ(pairs(report), "half1 name; relu1 name; twice1 name; ");
    for (size_t row = 0; row < 3; ++row) EXPECT_EQ(report.value(OPD_REPORT_CALLS, row, "Inputs").string(), "agree");
  }
  EXPECT_EQ(
      text(compared(apart, in_place("half")), "Verdict"),
      "first difference at half (call 2 of 2) (in A: relu): max abs 1 (tolerance 1.3e-5), caused by half (call 2 of "
      "2) (in A: relu) whose inputs agree");
}

// No call of A has as many elements.
TEST_F(ComparisonReport, HasTheCallsBeforeAResultWithoutACounterpart) {
  define("grow", [](const opd_value *args, int32_t, opd_value *) {
    for (int i = 0; i < 8; ++i) elements(args[1])[i] = elements(args[0])[i % 4];
  });
  const char *grows =
      "  %sg = call vm.builtin.alloc_storage(%vm, shape(32), 0, dtype(uint8), \"global\")\n"
      "  %g = call vm.builtin.alloc_tensor(%sg, 0, shape(8), dtype(float32))\n  call grow(%q, %g)\n  ret %g";
  const Vm a = program({"half x -> h"}), b = program({"half x -> h", "relu h -> p", "relu p -> q"}, "x", grows);
  EXPECT_EQ(text(compared(a, b), "Verdict"),
            "first difference at result 0: float32[4] in A, float32[8] in B, caused by relu (call 1 of 2), relu (call "
            "2 of 2) or grow (in A: half), which read values that agree (without a counterpart: 0 of A, 3 of B)");
  EXPECT_EQ(text(compared(b, a), "Verdict"),
            "first difference at result 0: float32[8] in A, float32[4] in B, caused by half (in A: relu (call 1 of 2), "
            "relu (call 2 of 2) or grow), which read values that agree (without a counterpart: 3 of A, 0 of B)");
}

// Of operators with other numbers of arguments: what B reads from outside, and A does not.
TEST_F(ComparisonReport, NamesInputsThatOnlyBReads) {
  const Vm a = program({"half x -> h", "relu h -> r"}), b = program({"half x -> h", "add h x -> r"});
  EXPECT_EQ(text(compared(a, b), "Verdict"),
            "first difference at add (in A: relu): max abs 4 (tolerance 1.3e-5), which reads argument 0 of type "
            "float32[4]; no input of A agrees with it");
}

TEST_F(ComparisonReport, NamesAConstantThatDiffers) {
  const auto adds = [](const char *last) {
    return program({}, "x",
                   std::string("  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n"
                               "  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))\n"
                               "  call add(%x, tensor(float32, (4), 0x0000803f0000803f0000803f") +
                       last + "), %t)\n  ret %t");
  };
  const auto verdict = [&](const Vm &one, const Vm &other) {  // without the number of the constant
    return std::regex_replace(text(compared(one, other), "Verdict"), std::regex("constant [0-9]+"), "constant");
  };
  const Vm of_x = program({"add x x -> a"});
  EXPECT_EQ(verdict(adds("0000803f"), adds("00000040")),
            "first difference at add: max abs 1 (tolerance 1.7e-5), its input 1 differs already: constant (max abs 1 "
            "(tolerance 1.1e-5))")
      << "4 + 1 and 4 + 2";
  EXPECT_EQ(verdict(adds("0000803f"), adds("0000803f")), "no difference: 1 operator agrees bit for bit");
  EXPECT_EQ(verdict(adds("0000803f"), of_x),
            "first difference at add: max abs 3 (tolerance 1.7e-5), its input 1 differs already: argument 0 (max abs 3 "
            "(tolerance 1.1e-5))")
      << "4 + 1 and 4 + 4";
  EXPECT_EQ(verdict(of_x, adds("0000803f")),
            "first difference at add: max abs 3 (tolerance 2e-5), its input 1 differs already: constant (max abs 3 "
            "(tolerance 1.5e-5))");
}

// Of two programs that compute with quantised numbers and without, kernels of the same name are on other scales.
TEST_F(ComparisonReport, DoesNotPairIntegersWithFloats) {
  const auto is_integer = [](const opd_value &v) {
    const auto *tensor = reinterpret_cast<const opd_tensor *>(v.u.object);
    return (v.type == OPD_TENSOR ? opd_tensor_view(tensor) : v.u.dltensor)->dtype.code == kDLInt;
  };
  define("test.scaled", [=](const opd_value *args, int32_t, opd_value *) {  // 8 times as many steps
    const auto steps = [&](size_t arg) { return reinterpret_cast<int32_t *>(elements(args[arg])); };
    const bool reads = is_integer(args[0]), writes = is_integer(args[1]);
    for (int i = 0; i < 4; ++i) {
      const float value = reads ? static_cast<float>(steps(0)[i]) / 8 : elements(args[0])[i];
      if (writes) steps(1)[i] = static_cast<int32_t>(std::lround(value * 8));
      else elements(args[1])[i] = value;
    }
  });
  define("test.doubled", [=](const opd_value *args, int32_t, opd_value *) {
    for (int i = 0; i < 4; ++i)
      if (is_integer(args[0]))
        reinterpret_cast<int32_t *>(elements(args[1]))[i] = 2 * reinterpret_cast<int32_t *>(elements(args[0]))[i];
      else elements(args[1])[i] = 2 * elements(args[0])[i];
  });
  const auto integers = [](const std::string &value) {
    std::string made = allocation(value);
    return made.replace(made.find("float32"), 7, "int32");
  };
  const auto quantised = [&](const std::string &doubled) {
    return vm_of(".func main(x) {\n" + integers("q") + "  call test.scaled(%x, %q)\n" + integers("d") + "  call " +
                 doubled + "(%q, %d)\n" + allocation("y") + "  call test.scaled(%d, %y)\n" + allocation("r") +
                 "  call relu(%y, %r)\n  ret %r\n}");
  };
  const Vm precise = program({"test.doubled x -> d", "relu d -> r"});
  const opdyno::Report equal = compared(precise, quantised("test.doubled"));
  EXPECT_EQ(text(equal, "Verdict"),
            "no difference: 2 operators agree bit for bit (without a counterpart: 0 of A, 2 of B)");
  EXPECT_EQ(pairs(equal),
            "test.scaled1 only in B; test.doubled1 only in B; test.scaled2=test.doubled value; relu1 name; ");
  define("test.wrong", [](const opd_value *args, int32_t, opd_value *) {
    for (int i = 0; i < 4; ++i) reinterpret_cast<int32_t *>(elements(args[1]))[i] = 40;
  });
  EXPECT_EQ(
      text(compared(precise, quantised("test.wrong")), "Verdict"),
      "first difference at test.scaled (call 2 of 2) (in A: test.doubled): max abs 7 (tolerance 1.3e-5), caused by "
      "test.scaled (call 1 of 2), test.wrong or test.scaled (call 2 of 2) (in A: test.doubled), which read values "
      "that agree (without a counterpart: 0 of A, 2 of B)")
      << "5 in place of -2";
}

// With a wide tolerance, the output of either kernel agrees with both of the other side.
TEST_F(ComparisonReport, PairsTheMostAlikeOfManyThatAgree) {
  auto options = opdyno::defaults(opd_compare_options_init);
  options.atol = "10";
  const Vm a = program({"half x -> h", "twice1 x -> t", "add h t -> s"});
  const Vm b = program({"twice x -> t", "halve x -> h", "add h t -> s"});
  EXPECT_EQ(pairs(compared(a, b, &options)), "twice1=twice1 order; halve1=half value; add1 name; ");
}

TEST_F(ComparisonReport, RecognisesInputsInAnotherOrder) {
  const Vm a = program({"half x -> h", "add h x -> s"}), b = program({"half x -> h", "add x h -> s"});
  const opdyno::Report equal = compared(a, b);
  EXPECT_EQ(text(equal, "Verdict"), "no difference: 2 operators agree bit for bit");
  EXPECT_EQ(equal.value(OPD_REPORT_CALLS, 1, "Inputs").string(), "other order");
  for (const char *inputs : {"h x", "x h"})
    EXPECT_EQ(
        text(compared(a, program({"half x -> h", inputs[0] == 'h' ? "add_wrong h x -> s" : "add_wrong x h -> s"})),
             "Verdict"),
        std::string("first difference at add_wrong (in A: add): max abs 1 (tolerance 1.2e-5), caused by add_wrong (in "
                    "A: add) ") +
            (inputs[0] == 'h' ? "whose inputs agree" : "which reads the same values in another order"));
}

// TVM's names of fused kernels. The values of a wrong one agree with nothing.
TEST_F(ComparisonReport, MatchesFusedKernelsByTheirParts) {
  const auto each = [](const char *name, float (*of)(float a)) {
    define(name, [of](const opd_value *args, int32_t count, opd_value *) {
      for (int i = 0; i < 4; ++i) elements(args[count - 1])[i] = of(elements(args[0])[i]);
    });
  };
  each("fused_half_shift", [](float a) { return a / 2 + 3; });
  each("fused_twice1_cast_same1_cast2", [](float a) { return 2 * a + 1; });
  each("shift", [](float a) { return a + 1; });
  const Vm fused = program({"fused_half_shift x -> a", "fused_twice1_cast_same1_cast2 a -> b", "relu b -> c"});
  const Vm apart = program({"half x -> h", "shift h -> a", "twice a -> t", "same t -> b", "relu b -> c"});
  const opdyno::Report report = compared(fused, apart);
  EXPECT_EQ(pairs(report),
            "half1 only in B; shift1=fused_half_shift order differs; twice1 only in B; "
            "same1=fused_twice1_cast_same1_cast2 order differs; relu1 name differs; ")
      << text(report, "Verdict");
  EXPECT_EQ(text(report, "Cause"), "half, shift");
}

TEST_F(ComparisonReport, MatchesArgumentsByParameterName) {
  const auto find = [](const Vm &a, const Vm &b) {
    const Tensor x = floats({-1, 2, 3, 4}), y = floats({8, 8, 8, 8});
    return opdyno::compare(a, b, "main", {arg(x), arg(y)}, nullptr, false).report;
  };
  const auto adds = [](const char *params) { return program({"half x -> h", "add h y -> s"}, params); };
  const Vm a = adds("x, y");
  EXPECT_EQ(text(find(a, adds("x, y")), "Note"), "");
  const opdyno::Report turned = find(a, adds("y, x"));
  EXPECT_EQ(text(turned, "Verdict"), "no difference: 2 operators agree bit for bit");
  EXPECT_EQ(text(turned, "Note"),
            "B takes other parameters than A, main(y, x) and not main(x, y): it gets the arguments of the same names");
  EXPECT_EQ(text(find(a, program({"half x -> h", "add h x -> s"})), "Verdict").find("first difference at add: "), 0U)
      << "B lacks y";
  EXPECT_EQ(text(find(a, program({"half v -> h", "add h w -> s"}, "v, w")), "Verdict"),
            "no difference: 2 operators agree bit for bit")
      << "by their places, if they have other names";
  expect_throws([&] { find(a, adds("x, y, z")); }, OPD_INVALID_ARGUMENT,
                "the programs take different arguments: main(x, y) in A, main(x, y, z) in B");
  expect_throws([&] { find(a, program({"half v -> h"}, "v")); }, OPD_INVALID_ARGUMENT, "different arguments");
}

// A build for another layout has the same sizes in another order, between two kernels that turn values.
TEST_F(ComparisonReport, FindsTheCounterpartsInAnotherLayout) {
  const auto turns = [](const char *name, int64_t rows, int64_t columns, float more) {
    define(name, [=](const opd_value *args, int32_t, opd_value *) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          elements(args[1])[j * rows + i] = elements(args[0])[i * columns + j] + more;
    });
  };
  turns("test.turned", 2, 3, 0), turns("test.back", 3, 2, 0);
  const auto each = [](const char *name, float more) {
    define(name, [=](const opd_value *args, int32_t, opd_value *) {
      for (int i = 0; i < 6; ++i)
        elements(args[1])[i] = elements(args[0])[i] * elements(args[0])[i] + (i == 4 ? more : 0);
    });
  };
  each("square", 0), each("square2", 1);
  const auto sized = [](const std::string &value, const char *shape) {
    return "  %s" + value + " = call vm.builtin.alloc_storage(%vm, shape(24), 0, dtype(uint8), \"global\")\n  %" +
           value + " = call vm.builtin.alloc_tensor(%s" + value + ", 0, shape(" + shape + "), dtype(float32))\n";
  };
  const Vm a = vm_of(".func main(x) {\n" + sized("y", "2, 3") + "  call square(%x, %y)\n" + sized("z", "2, 3") +
                     "  call square(%y, %z)\n  ret %z\n}");
  const auto turned = [&](const std::string &second) {
    return vm_of(".func main(x) {\n" + sized("t", "3, 2") + "  call test.turned(%x, %t)\n" + sized("y", "3, 2") +
                 "  call square(%t, %y)\n" + sized("u", "3, 2") + "  call " + second + "(%y, %u)\n" +
                 sized("z", "2, 3") + "  call test.back(%u, %z)\n  ret %z\n}");
  };
  const Tensor x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto find = [&](const Vm &b) { return opdyno::compare(a, b, "main", {arg(x)}, nullptr, false).report; };
  EXPECT_EQ(pairs(find(turned("square"))),
            "test.turned1 only in B; square1 order; square2 order; test.back1 only in B; ");
  // B's fifth number is at [2, 0], which is [0, 2] in A: the third one, 3^4, so 1e-5 + 1.3e-6 * 81.
  EXPECT_EQ(
      text(find(turned("square2")), "Verdict"),
      "first difference at square2 (in A: square (call 2 of 2)): max abs 1 (tolerance 1.2e-4), caused by square2 (in "
      "A: square (call 2 of 2)) whose inputs agree (without a counterpart: 0 of A, 2 of B)");
}

TEST_F(ComparisonReport, ChecksItsTimeoutAndOptions) {
  auto options = opdyno::defaults(opd_compare_options_init);
  for (const int64_t timeout : {int64_t{3'600'000'000'000}, std::numeric_limits<int64_t>::max()}) {
    options.timeout_ns = timeout;
    EXPECT_EQ(text(compared(unfused(), unfused(), &options), "Equal"), "1") << timeout;
  }
  options.timeout_ns = -1;
  expect_throws([&] { compared(unfused(), unfused(), &options); }, OPD_INVALID_ARGUMENT,
                "option timeout_ns must not be negative, but is -1");
  options.timeout_ns = 0, options.equal_nan = 2;
  expect_throws([&] { compared(unfused(), unfused(), &options); }, OPD_INVALID_ARGUMENT,
                "option equal_nan must be 0 or 1, but is 2");
}

}  // namespace
