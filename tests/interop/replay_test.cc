// Loads what real TVM compiled, without TVM, and compares with what TVM answered. README.md describes the files.
#include "interop/host_functions.h"
#include "interop/recorded.h"

using namespace opdyno_test;
namespace fs = std::filesystem;

namespace {

class Artefact {
 public:
  explicit Artefact(const std::string &path) : module_(load(path)) {
    if (std::string(opd_module_kind(module_.get())) == "relax.VMExecutable") vm_ = Vm(module_);
  }

  opd_error *call(const std::string &name, const std::vector<opd_value> &args, Value &result) const {
    const auto count = static_cast<int32_t>(args.size());
    if (vm_) return opd_vm_call(vm_.get(), name.c_str(), args.data(), count, nullptr, result.out());
    return opd_function_call(module_.function(name.c_str()).get(), args.data(), count, result.out());
  }

 private:
  static Module load(const fs::path &path) {
    if (path.extension() != ".a") return Module::load(path.string());
    // Objects for a system library, linked into this program; build_models.py chooses the prefix.
    std::string release = path.parent_path().filename().string();
    std::replace(release.begin(), release.end(), '.', '_');
    const std::string mode = path.parent_path().parent_path().filename().string();
    Module module;
    check(opd_module_system_lib((mode + "_" + release + "_" + path.stem().string() + "_").c_str(), module.out()));
    return module;
  }

  Module module_;
  Vm vm_;
};

void replay(const Artefact &artefact, const Case &c) {
  const std::vector<Value> inputs = c.arguments();
  const std::vector<opd_value> args = views_of(inputs);
  Value result;
  opd_error *error = artefact.call(c.function(), args, result);
  if (!c.error.empty()) {
    ASSERT_NE(error, nullptr) << c.call << " should fail: " << c.error;
    const Error e(error);
    // TVM says InternalError where an argument count is wrong; ours is the Python kind for it.
    const std::string kind = c.error.substr(0, c.error.find(':'));
    if (kind != "InternalError") { EXPECT_EQ(e.kind(), kind) << c.call << ": " << e.message() << "\nTVM: " << c.error; }
    return;
  }
  check(error);
  if (!c.outputs.empty()) expect_equal(result.view(), value_at(c.outputs, {}).view(), c.call + "/out");
  for (const auto &[path, leaf] : c.after)
    expect_equal(args[static_cast<size_t>(path[0])], value_of(leaf).view(), c.call + "/after");
}

#ifdef OPDYNO_INTEROP_LINKED  // this program has them linked in
const std::set<std::string> kSuffixes{".a"};
#else
const std::set<std::string> kSuffixes{".so", ".tar"};
#endif

class Replay : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(Replay, GivesTvmsAnswers) {
  define_host_functions();
  const Artefact artefact(GetParam());
  const auto cases = cases_of(GetParam());
  ASSERT_FALSE(cases.empty());
  for (const Case &c : cases) {
    SCOPED_TRACE(c.call);
    try {
      replay(artefact, c);
    } catch (const std::exception &e) { ADD_FAILURE() << e.what(); }
  }
}

INSTANTIATE_TEST_SUITE_P(Tvm, Replay, testing::ValuesIn(recorded_artefacts(kSuffixes)),
                         [](const auto &info) { return test_name(info.param, info.index); });
