// What the report of a replay says: its sentence, rows and configuration.
#include <stdlib.h>

#include "support/recorded_calls.h"

using namespace opdyno_test;

namespace {

// Programs that return constants, whatever they are called with: `results` are constants, "" for an empty tuple.
std::string returning(const std::string &results) {
  return ".func main() {\n  %r = call vm.builtin.make_tuple(" + results + ")\n  ret %r\n}\n";
}
// The same with tensors as c[0], c[1] …
std::string returning_tensors(const std::vector<std::string> &tensors) {
  std::string constants, results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    constants += ".const = tensor(" + tensors[i] + ")\n";
    results += (i ? ", c[" : "c[") + std::to_string(i) + "]";
  }
  return constants + returning(results);
}
// float32 numbers by their bits.
const char *const kOne = "0000803f", *const kTwo = "00000040", *const kThree = "00004040", *const kNan = "0000c07f",
                  *const kInfinite = "0000807f";
std::string pair_of(const char *one, const char *other) { return std::string("float32, (2), 0x") + one + other; }

struct Outcome {
  std::string verdict;
  bool is_same = false;
  Report report;
};
// Records one program and makes the call again with another one.
Outcome outcome(const std::string &recorded, const std::string &now, bool with_outputs = false,
                const char *atol = nullptr) {
  auto keeping = opdyno::defaults(opd_record_options_init);
  keeping.with_outputs = with_outputs;
  const auto path = record(make_vm(recorded), {}, &keeping);
  const Module other = Executable::assemble(now).to_module();
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = other.get(), options.atol = atol;
  const auto replayed = opdyno::replay(path, &options);
  return {verdict(replayed), is_same(replayed), replayed.report};
}

const std::string kOther = "the call returned something else than was recorded: ";
const std::string kThat = "the call returned what was recorded: ";

}  // namespace

TEST(ReplayVerdict, SaysHowManyValuesAreEqual) {
  EXPECT_EQ(outcome(returning(""), returning("")).verdict, kThat + "an empty tuple");
  EXPECT_EQ(outcome(returning("1"), returning("1")).verdict, kThat + "1 value is equal bit for bit");
  EXPECT_EQ(outcome(returning("1, \"s\""), returning("1, \"s\"")).verdict, kThat + "2 values are equal bit for bit");
  EXPECT_TRUE(outcome(returning(""), returning("")).is_same);
  const auto near = [](int agreeing, int equal) {
    std::vector<std::string> then, now;
    for (int i = 0; i < agreeing; ++i) then.push_back(pair_of(kOne, kTwo)), now.push_back(pair_of(kOne, kThree));
    for (int i = 0; i < equal; ++i) then.push_back(pair_of(kOne, kOne)), now.push_back(pair_of(kOne, kOne));
    const Outcome found = outcome(returning_tensors(then), returning_tensors(now), true, "1");
    EXPECT_TRUE(found.is_same);
    return found.verdict;
  };
  EXPECT_EQ(near(1, 1), kThat + "1 value agrees within the tolerance, 1 is equal bit for bit");
  EXPECT_EQ(near(1, 2), kThat + "1 value agrees within the tolerance, 2 are equal bit for bit");
  EXPECT_EQ(near(2, 0), kThat + "2 values agree within the tolerance, 0 are equal bit for bit");
}

TEST(ReplayVerdict, NamesTheFirstValueThatDiffers) {
  const struct {
    std::string then, now, verdict;
    bool with_outputs;
  } cases[] = {
      {returning("1, 2"), returning("1, 3"), "out_1 is 3, and was 2", false},
      {returning("1, 2"), returning("2, 3"), "out_0 is 2, and was 1", false},
      {returning("1, 2"), returning("1"), "out_1 is missing", false},
      {returning("1"), returning("1, 2"), "out_1 was not returned then", false},
      {returning("1"), returning(""), "out_0 is missing", false},
      {returning("1"), ".func main() {\n  ret %void\n}\n", "out_0 is missing", false},
      {returning("f64(1)"), returning("f64(2)"), "out_0 is 2, and was 1", false},
      {returning("\"s\""), returning("7"), "out_0 is 7, and was \"s\"", false},
      {returning("shape(1, 2)"), returning("shape(1, 3)"), "out_0 is [1, 3], and was [1, 2]", false},
      {returning_tensors({"int8, (1), 0x01"}), returning_tensors({"int8, (1), 0x02"}),
       "out_0, int8[1] on cpu:0, has another hash", false},
      {returning_tensors({"int8, (1), 0x01"}), returning_tensors({"int8, (2), 0x0101"}),
       "out_0 is int8[2] on cpu:0, and was int8[1] on cpu:0", true},
      {returning_tensors({"int8, (1), 0x01"}), returning_tensors({"uint8, (1), 0x01"}),
       "out_0 is uint8[1] on cpu:0, and was int8[1] on cpu:0", true},
      {returning_tensors({"int8, (1), 0x01"}), returning("1"), "out_0 is 1, and was int8[1] on cpu:0", true},
      {returning_tensors({"int8, (2), 0x0105"}), returning_tensors({"int8, (2), 0x0102"}),
       "out_0, int8[2] on cpu:0, differs at 1 of 2 elements: max abs 3 (tolerance 0)", true},
      {returning_tensors({pair_of(kOne, kTwo)}), returning_tensors({pair_of(kOne, kNan)}),
       "out_0, float32[2] on cpu:0, differs at 1 of 2 elements: element 1 is NaN, and was 2", true},
      {returning_tensors({pair_of(kInfinite, kTwo)}), returning_tensors({pair_of(kOne, kTwo)}),
       "out_0, float32[2] on cpu:0, differs at 1 of 2 elements: element 0 is 1, and was inf", true},
      {returning_tensors({"float4_e2m1fn, (2), 0x01"}), returning_tensors({"float4_e2m1fn, (2), 0x02"}),
       "out_0, float4_e2m1fn[2] on cpu:0, has other bits", true},
  };
  for (const auto &[then, now, difference, with_outputs] : cases) {
    const Outcome found = outcome(then, now, with_outputs);
    EXPECT_EQ(found.verdict, kOther + difference) << then << now;
    EXPECT_FALSE(found.is_same) << then << now;
  }
}

TEST(ReplayVerdict, DistinguishesErrors) {
  const auto failing = [](const std::string &text) {
    return ".func main() {\n  call vm.builtin.match_shape(shape(1), %void, 1, 0, " + text + ", \"\")\n  ret %void\n}\n";
  };
  const Outcome same = outcome(failing("2"), failing("2"));
  EXPECT_TRUE(same.is_same);
  EXPECT_TRUE(same.verdict.starts_with("the call failed as it did when it was recorded: ")) << same.verdict;
  const Outcome other = outcome(failing("2"), failing("3"));
  EXPECT_FALSE(other.is_same);
  EXPECT_TRUE(other.verdict.starts_with("the call failed: ")) << other.verdict;
  EXPECT_NE(other.verdict.find("; when it was recorded, it failed: "), std::string::npos) << other.verdict;
  const Outcome returned = outcome(failing("2"), returning(""));
  EXPECT_FALSE(returned.is_same);
  EXPECT_TRUE(returned.verdict.starts_with("the call returned; when it was recorded, it failed: ")) << returned.verdict;
  EXPECT_FALSE(returned.verdict.ends_with(".")) << returned.verdict;
  EXPECT_EQ(entry(returned.report, "Recorded"), "failed");
  EXPECT_NE(returned.verdict.find(entry(returned.report, "Error").substr(0, 20)), std::string::npos);
  const Outcome fails = outcome(returning(""), failing("2"));
  EXPECT_FALSE(fails.is_same);
  EXPECT_TRUE(fails.verdict.ends_with("; when it was recorded, it returned")) << fails.verdict;
}

TEST(ReplayReport, HasARowOfEachArgumentAndResult) {
  auto keeping = opdyno::defaults(opd_record_options_init);
  keeping.with_outputs = 1;
  const std::string constants =
      ".const = tensor(" + pair_of(kOne, kTwo) + ")\n.const = tensor(" + pair_of(kOne, kOne) + ")\n";
  const auto program = [&](const std::string &results) {
    return constants + ".func main(x, y) {\n  %r = call vm.builtin.make_tuple(" + results + ")\n  ret %r\n}\n";
  };
  const Vm vm = make_vm(program("c[0], c[1], 5, c[0]"));
  const Array nested(std::vector<opd_value>{opd_int(1), arg(Array(std::vector<opd_value>{opd_int(2)}))});
  const char *const names[] = {nullptr, "y"};
  auto call = opdyno::defaults(opd_call_options_init);
  call.names = names;
  const std::string path = recording_path();
  vm.record_next_call(path, &keeping);
  vm.call_with(call, "main", {arg(nested), opd_float(0.5)});
  vm.end_recording();
  const Module other = Executable::assemble(program("c[0], c[0], 6")).to_module();
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = other.get(), options.atol = "1";
  const Report report = opdyno::replay(path, &options).report;
  EXPECT_EQ(report.csv(),
            "Kind,Max Abs,Max Rel,Mismatches,Name,Recorded Value,State,Value\n"
            "\"argument\",,,,\"arg_0_0\",,,\"1\"\n"
            "\"argument\",,,,\"arg_0_1_0\",,,\"2\"\n"
            "\"argument\",,,,\"y\",,,\"0.5\"\n"
            "\"result\",,,,\"out_0\",,\"equal\",\"float32[2] on cpu:0\"\n"
            "\"result\",1,1,0,\"out_1\",,\"agrees\",\"float32[2] on cpu:0\"\n"  // 1 and 2
            "\"result\",,,,\"out_2\",\"5\",\"differs\",\"6\"\n"
            "\"result\",,,,\"out_3\",,\"only recorded\",\"float32[2] on cpu:0\"\n");
  options.run = 0;
  EXPECT_EQ(opdyno::replay(path, &options).report.csv(),
            "Kind,Name,Value\n"
            "\"argument\",\"arg_0_0\",\"1\"\n\"argument\",\"arg_0_1_0\",\"2\"\n\"argument\",\"y\",\"0.5\"\n"
            "\"result\",\"out_0\",\"float32[2] on cpu:0\"\n\"result\",\"out_1\",\"float32[2] on cpu:0\"\n"
            "\"result\",\"out_2\",\"5\"\n\"result\",\"out_3\",\"float32[2] on cpu:0\"\n");
}

#if defined(__x86_64__) && defined(__linux__)
// The processor's features by Linux, in whose list the first one has another name.
std::string known_features() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line) && !line.starts_with("flags")) {}
  std::istringstream words(line);
  const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
  std::string out = "x86_64";
  for (const std::string name : {"sse4.2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl"})
    if (std::count(flags.begin(), flags.end(), name == "sse4.2" ? "sse4_2" : name)) out += " " + name;
  return out;
}
TEST(ReplayReport, HasTheFeaturesOfTheProcessor) {
  const auto path = record(make_vm(returning("")), {});
  EXPECT_EQ(entry(opdyno::replay(path).report, "Processor"), known_features());
}
#endif

TEST(ReplayReport, DescribesTheRecordedProcess) {
  const char *const variables[] = {"OPDYNO_NUM_THREADS",       "TVM_NUM_THREADS",         "OMP_NUM_THREADS",
                                   "OPDYNO_KEPT_LIBRARIES_MB", "OPDYNO_KEPT_PROGRAMS_MB", "OPDYNO_BACKTRACE"};
  std::vector<std::string> before;
  for (const char *name : variables) before.push_back(getenv(name) ? getenv(name) : "");
  for (const char *name : variables) unsetenv(name);
  const std::string plain = record(make_vm(".func main(x) {\n  ret %x\n}\n"), {opd_int(3)});
  const Report report = opdyno::replay(plain).report;
  EXPECT_EQ(report.columns(OPD_REPORT_CONFIGURATION),
            (std::vector<std::string>{"Verdict", "Same", "Function", "Recorded", "Program", "opdyno", "Processor",
                                      "Threads", "Devices"}));
  EXPECT_EQ(entry(report, "Function"), "main");
  EXPECT_EQ(entry(report, "Recorded"), "returned");
  // Of the 149 bytes by docs/executable.md, as Python's hashlib has it.
  EXPECT_EQ(entry(report, "Program"), "2a7606e8ea6975891dcd20abd48725206c49b0753439cb97a253492c61249a5a");
  EXPECT_EQ(entry(report, "opdyno"), std::to_string(OPD_VERSION_MAJOR) + "." + std::to_string(OPD_VERSION_MINOR) + "." +
                                         std::to_string(OPD_VERSION_PATCH));
  EXPECT_EQ(report.value(OPD_REPORT_CONFIGURATION, 0, "Threads").view().u.int64, opd_threads_count());
  EXPECT_EQ(entry(report, "Devices"), "cpu:0");
  const DLDevice cpu{kDLCPU, 0};
  const opd_allocator_kind naive = OPD_ALLOCATOR_NAIVE;
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &cpu, options.allocators = &naive, options.num_devices = 1;
  auto keeping = opdyno::defaults(opd_record_options_init);
  keeping.with_operators = 1;
  int number = 0;
  for (const char *name : variables) setenv(name, std::to_string(++number).c_str(), 1);
  const auto path =
      record(make_vm(".func main(x) {\n  call vm.builtin.copy(%x)\n  ret %x\n}\n", &options), {opd_int(3)}, &keeping);
  for (size_t i = 0; i < before.size(); ++i)
    before[i].empty() ? unsetenv(variables[i]) : setenv(variables[i], before[i].c_str(), 1);
  auto reading = opdyno::defaults(opd_replay_options_init);
  reading.run = 0;
  const Report naive_one = opdyno::replay(path, &reading).report;
  EXPECT_EQ(entry(naive_one, "Devices"), "cpu:0 (naive)");
  EXPECT_EQ(entry(naive_one, "Environment"),
            "OPDYNO_NUM_THREADS=1 TVM_NUM_THREADS=2 OMP_NUM_THREADS=3 OPDYNO_KEPT_LIBRARIES_MB=4 "
            "OPDYNO_KEPT_PROGRAMS_MB=5 OPDYNO_BACKTRACE=6");
  EXPECT_EQ(naive_one.value(OPD_REPORT_CONFIGURATION, 0, "Operators").view().u.int64, 0);
  const std::vector<std::string> names = naive_one.columns(OPD_REPORT_CONFIGURATION);
  EXPECT_EQ(std::count(names.begin(), names.end(), "Verdict"), 0) << "nothing ran";
  EXPECT_EQ(std::count(names.begin(), names.end(), "Same"), 0);
}

TEST(ReplayReport, NotesDifferencesFromTheRecordedProcess) {
  const auto note = [](int then, int now) {
    check(opd_threads_set_count(then));
    const auto path = record(make_vm(returning("")), {});
    check(opd_threads_set_count(now));
    const auto replayed = opdyno::replay(path);
    EXPECT_EQ(replayed.report.value(OPD_REPORT_CONFIGURATION, 0, "Threads").view().u.int64, then);
    const Module other = Executable::assemble(returning("") + "\n.func more() {\n  ret %void\n}\n").to_module();
    auto options = opdyno::defaults(opd_replay_options_init);
    options.module = other.get();
    const std::string alone = entry(replayed.report, "Note"),
                      both = entry(opdyno::replay(path, &options).report, "Note");
    options.run = 0;
    EXPECT_EQ(entry(opdyno::replay(path, &options).report, "Note"), alone);
    check(opd_threads_set_count(0));
    return alone + "|" + both;
  };
  const std::string other = "the program is another one than was recorded";
  EXPECT_EQ(note(2, 2), "|" + other);
  EXPECT_EQ(note(1, 3), "recorded with 1 thread, here are 3|" + other + "; recorded with 1 thread, here are 3");
  EXPECT_EQ(note(2, 1), "recorded with 2 threads, here are 1|" + other + "; recorded with 2 threads, here are 1");
}
