// include/opdyno/compare.h: the first difference of two programs and its cause; what is refused.
#include <opdyno/compare.h>

#include <fstream>
#include <limits>
#include <thread>

#include "support/add_one.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

std::string three_kernels(const std::string &second, const std::string &params = "x") {
  const auto call = [](const std::string &kernel, const std::string &from, const std::string &to) {
    return "  %s" + to + " = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n  %" + to +
           " = call vm.builtin.alloc_tensor(%s" + to + ", 0, shape(4), dtype(float32))\n  call " + kernel + "(%" +
           from + ", %" + to + ")\n";
  };
  return ".func main(" + params + ") {\n" + call("test.add_one", "x", "a") + call(second, "a", "b") +
         call("test.add_one", "b", "c") + "  ret %c\n}\n";
}

class Compare : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    define_add_one();
    define("test.add_more", [](const opd_value *args, int32_t, opd_value *) {
      for (int i = 0; i < 4; ++i) elements(args[1])[i] = elements(args[0])[i] + 1.5F;
    });
    define("test.add_nothing", [](const opd_value *, int32_t, opd_value *) {});
  }

  opdyno::Comparison compare(const Vm &a, const Vm &b, const opd_compare_options *options = nullptr,
                             bool with_times = false) {
    const Tensor x = floats({1, 2, 3, 4});
    return opdyno::compare(a, b, "main", {arg(x)}, options, with_times);
  }
  std::string verdict(const opdyno::Comparison &found) {
    return found.report.value(OPD_REPORT_CONFIGURATION, 0, "Verdict").string();
  }
};

}  // namespace

TEST_F(Compare, EqualProgramsAgreeBitForBit) {
  const auto found = compare(make_vm(three_kernels("test.add_one")), make_vm(three_kernels("test.add_one")));
  EXPECT_EQ(verdict(found), "no difference: 3 operators agree bit for bit");
  EXPECT_EQ(found.report.value(OPD_REPORT_CONFIGURATION, 0, "Equal").view().u.int64, 1);
  EXPECT_EQ(found.report.count(), 4U);  // three operators and the result
}

TEST_F(Compare, NamesTheOperatorWithEqualInputsAndAnotherOutput) {
  const auto found = compare(make_vm(three_kernels("test.add_one")), make_vm(three_kernels("test.add_more")));
  EXPECT_EQ(
      verdict(found),
      "first difference at test.add_more (in A: test.add_one (call 2 of 3)): max abs 0.5 (tolerance 1.4e-5), caused "
      "by test.add_more (in A: test.add_one (call 2 of 3)) whose inputs agree");
}

TEST_F(Compare, FindsAKernelThatWritesNothing) {
  const Vm a = make_vm(three_kernels("test.add_one")), b = make_vm(three_kernels("test.add_nothing"));
  const Tensor x = floats({1, 2, 3, 4});
  b.call("main", x);  // leaves numbers in the storages
  EXPECT_NE(verdict(compare(a, b)).find("NaN at [0], where A has 3"), std::string::npos);
}

TEST_F(Compare, TheArgumentsStayAsTheyAreAndTheInstrumentIsRestored) {
  const Vm a = make_vm(".func main(x) {\n  call test.add_one(%x, %x)\n  ret %x\n}\n"), b = make_vm(kAddOne);
  int shown = 0;
  const auto instrument = Function::of([&shown](const opd_value *, int32_t) { ++shown; });
  check(opd_vm_set_instrument(b.get(), instrument.get()));
  const Tensor x = floats({1, 2, 3, 4});
  opdyno::compare(a, b, "main", {arg(x)}, nullptr, false);
  EXPECT_EQ(to_floats(Value::of(x)), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(shown, 0);
  b.call("main", x);
  EXPECT_GT(shown, 0);
  check(opd_vm_set_instrument(b.get(), nullptr));
}

TEST_F(Compare, MeasuresBothProgramsIfTimesAreWanted) {
  auto options = opdyno::defaults(opd_compare_options_init);
  options.repeat = 5;
  const auto found =
      compare(make_vm(three_kernels("test.add_one")), make_vm(three_kernels("test.add_more")), &options, true);
  EXPECT_EQ(found.times.value(OPD_REPORT_CONFIGURATION, 0, "Runs before").view().u.int64, 5);
  EXPECT_EQ(found.times.value(OPD_REPORT_CONFIGURATION, 0, "Paired").view().u.int64, 1);
  options.repeat = 0;
  EXPECT_FALSE(compare(make_vm(kAddOne), make_vm(kAddOne), &options, true).times);
}

TEST_F(Compare, ToleranceMayBeGivenByDtype) {
  const Vm a = make_vm(three_kernels("test.add_one")), b = make_vm(three_kernels("test.add_more"));
  auto options = opdyno::defaults(opd_compare_options_init);
  options.atol = "float64=1,float32=0.6";
  EXPECT_EQ(verdict(compare(a, b, &options)), "no difference: 3 operators agree, 1 of them bit for bit");
  options.rtol = options.atol = "0.01";
  EXPECT_NE(verdict(compare(a, b, &options)).find("first difference"), std::string::npos);
}

TEST_F(Compare, NanAgreesWithNanUnlessItIsToDiffer) {
  define("test.give_nan", [](const opd_value *args, int32_t, opd_value *) {
    for (int i = 0; i < 4; ++i) elements(args[1])[i] = std::numeric_limits<float>::quiet_NaN();
  });
  define("test.give_other_nan", [](const opd_value *args, int32_t, opd_value *) {
    for (int i = 0; i < 4; ++i) elements(args[1])[i] = -std::numeric_limits<float>::quiet_NaN();
  });
  const Vm a = make_vm(three_kernels("test.give_nan")), b = make_vm(three_kernels("test.give_other_nan"));
  auto options = opdyno::defaults(opd_compare_options_init);
  EXPECT_EQ(verdict(compare(a, b, &options)).find("no difference"), 0U) << verdict(compare(a, b, &options));
  options.equal_nan = 0;
  EXPECT_EQ(verdict(compare(a, b, &options)).find("first difference at test.give_other_nan"), 0U)
      << verdict(compare(a, b, &options));
}

// Of a value that is not kept, only a hash is known: whether it is equal, but not how far it is off.
TEST_F(Compare, KeepsCopiesUpToALimit) {
  const Vm a = make_vm(three_kernels("test.add_one")), b = make_vm(three_kernels("test.add_more"));
  auto options = opdyno::defaults(opd_compare_options_init);
  options.atol = "0.6";
  EXPECT_EQ(verdict(compare(a, b, &options)), "no difference: 3 operators agree, 1 of them bit for bit");
  options.keep_bytes = 1;
  const auto found = compare(a, b, &options);
  EXPECT_NE(verdict(found), "no difference: 3 operators agree, 1 of them bit for bit");
  EXPECT_EQ(found.report.value(OPD_REPORT_CONFIGURATION, 0, "Equal").view().u.int64, 0) << verdict(found);
}

// Rows are appended to a cache, which A's run would leave longer for B's.
TEST_F(Compare, BMayHaveArgumentsOfItsOwn) {
  const char *appends =
      ".func main(x, cache) {\n  %c = call vm.builtin.attention_kv_cache_append(%cache, %x)\n"
      "  %y = call vm.builtin.attention_kv_cache_view(%c, shape(2, 4))\n  ret %y\n}\n";
  const auto cache = [] {
    return opdyno::Function::global("vm.builtin.attention_kv_cache_create")(floats({0, 0, 0, 0}, {1, 4}),
                                                                            shape_of({8, 4}), 1);
  };
  const Vm a = make_vm(appends), b = make_vm(appends);
  const Tensor x = floats({1, 2, 3, 4}, {1, 4});
  const std::string shared = "argument 1, a ";
  auto options = opdyno::defaults(opd_compare_options_init);
  const Value of_a = cache(), of_b = cache();
  const Value b_args = tuple_of(x, of_b);
  options.b_args = reinterpret_cast<opd_array *>(b_args.view().u.object);
  const auto own = opdyno::compare(a, b, "main", {arg(x), of_a.view()}, &options, false);
  EXPECT_EQ(verdict(own).find("no difference"), 0U) << verdict(own);
  EXPECT_EQ(own.report.json().find(shared), std::string::npos);
  const Value both = cache();
  const auto one_cache = opdyno::compare(a, b, "main", {arg(x), both.view()}, nullptr, false);
  EXPECT_NE(verdict(one_cache).find("B fails: "), std::string::npos) << verdict(one_cache);
  EXPECT_NE(one_cache.report.json().find(shared), std::string::npos);
  const Value one = tuple_of(x);
  options.b_args = reinterpret_cast<opd_array *>(one.view().u.object);
  expect_throws(
      [&] {
        opdyno::compare(a, b, "main", {arg(x), of_a.view()}, &options, false);
      },
      OPD_INVALID_ARGUMENT, "B: main(x, cache) takes 2 arguments, but option b_args has 1");
}

TEST_F(Compare, BGetsTensorsOnItsOwnDevice) {
  std::vector<std::string> seen;
  define("test.note_device", [&](const opd_value *args, int32_t count, opd_value *) {
    for (int32_t i = 0; i < count; ++i)
      seen.push_back(opdyno::to_string(opd_tensor_view(reinterpret_cast<opd_tensor *>(args[i].u.object))->device));
  });
  const auto on = [](int32_t number) {
    const DLDevice devices[] = {{kDLCPU, number}, {kDLCPU, 2}};
    auto options = opdyno::defaults(opd_vm_options_init);
    options.num_devices = 2, options.devices = devices;
    return make_vm(
        ".func main(x, pair, y) {\n  %p = call vm.builtin.tuple_getitem(%pair, 0)\n"
        "  call test.note_device(%x, %p, %y)\n  ret %x\n}\n",
        &options);
  };
  const Vm a = on(0), b = on(7);
  const Tensor x = floats({1, 2, 3, 4}), y({4}, "float32", {kDLCPU, 2});
  const Value pair = tuple_of(x, 5);
  std::fill_n(y.data<float>(), 4, 8.F);
  using Devices = std::vector<std::string>;
  const Devices own{"cpu:0", "cpu:0", "cpu:2"}, others{"cpu:7", "cpu:7", "cpu:2"};  // y is on the second one of both
  const auto compare = [&](const Vm &one, const Vm &other, const opd_compare_options *options = nullptr) {
    seen.clear();
    const auto found = opdyno::compare(one, other, "main", {arg(x), pair.view(), arg(y)}, options, false);
    EXPECT_EQ(verdict(found), "no difference: 1 operator agrees bit for bit");
    EXPECT_EQ(seen.size(), 6U);
    return std::pair(Devices(seen.begin(), seen.begin() + 3), Devices(seen.begin() + 3, seen.end()));
  };
  EXPECT_EQ(compare(a, b), std::pair(own, others));
  EXPECT_EQ(compare(a, on(0)), std::pair(own, own));
  auto options = opdyno::defaults(opd_compare_options_init);
  const Value given = tuple_of(x, pair, y);
  options.b_args = reinterpret_cast<opd_array *>(given.view().u.object);
  expect_throws([&] { compare(a, b, &options); }, OPD_INVALID_ARGUMENT, "B: parameter x of main must lie on cpu:7");
}

TEST_F(Compare, RefusesProgramsAndArgumentsThatDoNotMatch) {
  const Vm a = make_vm(three_kernels("test.add_one")), b = make_vm(three_kernels("test.add_one")),
           two = make_vm(three_kernels("test.add_one", "x, more"));
  const Tensor x = floats({1, 2, 3, 4});
  const opd_value args[] = {arg(x), arg(x)};
  opdyno::Report out;
  const auto attempt = [&](const Vm &one, const Vm &other, const char *name, int32_t count,
                           const opd_compare_options *options = nullptr) {
    return opd_compare(one.get(), other.get(), name, args, count, options, out.out(), nullptr);
  };
  expect_error(attempt(a, a, "main", 1), OPD_INVALID_ARGUMENT, "two VMs");
  expect_error(attempt(a, b, "mian", 1), OPD_NOT_FOUND, "A: ");
  expect_error(attempt(a, b, "main", 2), OPD_INVALID_ARGUMENT, "main(x) takes 1 argument, but was given 2");
  expect_error(attempt(a, two, "main", 1), OPD_INVALID_ARGUMENT, "main(x) in A, main(x, more) in B");
  expect_error(opd_compare(a.get(), nullptr, "main", args, 1, nullptr, out.out(), nullptr), OPD_INVALID_ARGUMENT,
               "NULL");
  auto options = opdyno::defaults(opd_compare_options_init);
  for (const char *wrong : {"x", "-1", "float32=", "nan", "float32=1e-3;1", "=1"}) {
    options.rtol = wrong;
    expect_error(attempt(a, b, "main", 1, &options), OPD_INVALID_ARGUMENT, "");
  }
  options = opdyno::defaults(opd_compare_options_init);
  options.repeat = -1;
  expect_error(attempt(a, b, "main", 1, &options), OPD_INVALID_ARGUMENT, "repeat must be at least 0, but is -1");
  options = opdyno::defaults(opd_compare_options_init);
  options.timeout_ns = 1;
  expect_error(attempt(a, b, "main", 1, &options), OPD_DEADLINE_EXCEEDED, "deadline");
  options.timeout_ns = 0;
  const auto token = opdyno::CancelToken::create();
  token.cancel();
  options.cancel = token.get();
  expect_error(attempt(a, b, "main", 1, &options), OPD_CANCELLED, "cancelled");
  options = opdyno::defaults(opd_compare_options_init);
  options.save_directory = "/dev/null/around";
  const Vm more = make_vm(three_kernels("test.add_more"));
  expect_error(attempt(a, more, "main", 1, &options), OPD_IO, "/dev/null/around");
}
