// Warnings about environment variables that are set in vain, in programs that have no log callback.
#include <unistd.h>

#include <array>
#include <memory>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

void make_vm() {
  const Vm vm(Executable::assemble(".func main(x) {\n  ret %x\n}").to_module());
  EXPECT_EQ(to_string(vm.call("main", 3).view()), "3");
}

TEST(VariablesChild, DISABLED_MakesAVm) { make_vm(); }
TEST(VariablesChild, DISABLED_OnlyExits) {}
TEST(VariablesChild, DISABLED_HasALog) {
  const LogMessages log;
  make_vm();
  std::fputs(log.text().c_str(), stdout);
}

struct Printed {
  std::string out, error;
};

std::string output_of(const std::string &command) {
  const std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string text;
  std::array<char, 4096> block;
  while (const size_t size = fread(block.data(), 1, block.size(), pipe.get())) text.append(block.data(), size);
  return text;
}

// What this program prints if it does what `child` names with these variables.
Printed run(const std::string &child, const std::string &variables) {
  std::array<char, 4096> path{};
  EXPECT_GT(readlink("/proc/self/exe", path.data(), path.size() - 1), 0);
  const char *const emulator = std::getenv("OPDYNO_TEST_EMULATOR");  // set by tools/aarch64
  const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX " + variables + " " +
                              (emulator ? emulator : "") + " '" + path.data() +
                              "' --gtest_also_run_disabled_tests --gtest_brief=1 " +
                              "--gtest_filter=VariablesChild.DISABLED_" + child;
  return {output_of(command + " 2>/dev/null"), output_of(command + " 2>&1 >/dev/null")};
}

TEST(EnvironmentVariables, WithoutEffectAreReportedOnStandardError) {
  const std::pair<const char *, const char *> cases[] = {
      {"OPDYNO_NUM_THREADS=abc", "OPDYNO_NUM_THREADS is \"abc\", which is not a number of threads; it is ignored"},
      {"OPDYNO_NUM_THREADS=0", "OPDYNO_NUM_THREADS is \"0\""},
      {"OPDYNO_NUM_THREAD=2",
       "the environment variable OPDYNO_NUM_THREAD is not read. Did you mean OPDYNO_NUM_THREADS?"},
      {"OPDYNO_KEPT_LIBRARIES_MB=many", "OPDYNO_KEPT_LIBRARIES_MB is \"many\", which is not a number of MiB"},
      {"OPDYNO_TELEMETRY=promtheus=1", "OPDYNO_TELEMETRY: "},
      {"OPDYNO_CONTROL=/no/such/directory/socket", "OPDYNO_CONTROL: "},
      {"OPDYNO_RECORD_LAST=/no/such/directory/last.opdrec", "OPDYNO_RECORD_LAST: "}};
  for (const auto &[variable, message] : cases) {
    const std::string error = run("MakesAVm", variable).error;
    const size_t found = error.find(std::string("opdyno: warning: ") + message);
    EXPECT_NE(found, std::string::npos) << variable << ": " << error;
    EXPECT_EQ(error.find("opdyno: warning: ", found + 1), std::string::npos) << "once: " << error;
  }
}

TEST(EnvironmentVariables, OfOtherProgramsAndGoodValuesAreNotMentioned) {
  for (const char *good : {"OPDYNO_MY_SERVICE=1", "OPDYNO_NUM_THREADS=2", "OPDYNO_NUM_THREADS=2,1",
                           "OPDYNO_NUM_THREADS=", "OPDYNO_KEPT_PROGRAMS_MB=0", "NUM_THREADS=abc"})
    EXPECT_EQ(run("MakesAVm", good).error, "") << good;
}

TEST(EnvironmentVariables, AreCheckedAtTheEndOfAProgramWithoutAVm) {
  EXPECT_NE(run("OnlyExits", "OPDYNO_NUM_THREADS=abc").error.find("OPDYNO_NUM_THREADS"), std::string::npos);
}

TEST(EnvironmentVariables, AreReportedToTheLogCallbackIfThereIsOne) {
  const Printed printed = run("HasALog", "OPDYNO_NUM_THREADS=abc OPDYNO_RECORD_LAST=/no/such/directory/last.opdrec");
  EXPECT_NE(printed.out.find("OPDYNO_NUM_THREADS is \"abc\""), std::string::npos) << printed.out;
  EXPECT_NE(printed.out.find("OPDYNO_RECORD_LAST: "), std::string::npos) << printed.out;
  EXPECT_EQ(printed.error, "");
}

}  // namespace
