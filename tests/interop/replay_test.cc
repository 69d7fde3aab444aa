// Loads what real TVM compiled, without TVM, and compares with what TVM answered. README.md describes the files.
#include "interop/replay.h"

using namespace opdyno_test;

namespace {

#ifdef OPDYNO_INTEROP_LINKED  // this program has them linked in
const std::set<std::string> kSuffixes{".a"};
#else
const std::set<std::string> kSuffixes{".so", ".tar"};
#endif

class Replay : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(Replay, GivesTvmsAnswers) {
  define_host_functions();
  const Artifact artifact(GetParam());
  const auto cases = cases_of(GetParam());
  ASSERT_FALSE(cases.empty());
  for (const Case &c : cases) {
    SCOPED_TRACE(c.call);
    try {
      replay(artifact, c);
    } catch (const std::exception &e) { ADD_FAILURE() << e.what(); }
  }
}

#ifndef OPDYNO_INTEROP_LINKED  // code that is part of the program cannot be kept in a file
TEST_P(Replay, RecordedCallsAreRepeated) {
  define_host_functions();
  const Artifact artifact(GetParam());
  if (!artifact.vm()) return;
  const std::string path = testing::TempDir() + test_name(GetParam(), 0) + ".opdrec";
  auto options = opdyno::defaults(opd_record_options_init);
  options.with_operators = 1;
  for (const Case &c : cases_of(GetParam())) {
    SCOPED_TRACE(c.call);
    artifact.vm().record_next_call(path, &options);
    replay(artifact, c);
    opd_error *error = opd_vm_record_next_call(artifact.vm().get(), nullptr, nullptr);
    if (error && opd_error_code(error) == OPD_UNSUPPORTED) {  // it takes or gives a function
      opd_error_release(error);
      continue;
    }
    check(error);
    const opdyno::Replayed made = opdyno::replay(path);
    EXPECT_EQ(made.report.value(OPD_REPORT_CONFIGURATION, 0, "Same").view().u.int64, 1)
        << made.report.value(OPD_REPORT_CONFIGURATION, 0, "Verdict").string();
  }
  std::remove(path.c_str());
}
#endif

INSTANTIATE_TEST_SUITE_P(Tvm, Replay, testing::ValuesIn(recorded_artifacts(kSuffixes)),
                         [](const auto &info) { return test_name(info.param, info.index); });
