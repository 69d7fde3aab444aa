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

INSTANTIATE_TEST_SUITE_P(Tvm, Replay, testing::ValuesIn(recorded_artifacts(kSuffixes)),
                         [](const auto &info) { return test_name(info.param, info.index); });
