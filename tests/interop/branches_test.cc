// TVM's own pipeline lets one branch of `branches` use the storage that only the other one allocates. TVM crashes
// there; that the good branch gives TVM's answers is replay_test.cc's.
#include "interop/recorded.h"
#include "support/paths.h"

using namespace opdyno_test;
namespace fs = std::filesystem;

namespace {

Value run(const Vm &vm, const char *function, bool condition) {
  Tensor c({}, "bool");
  *c.data<bool>() = condition;
  return vm.call(function, c, floats({1, 2, 3, 4}));
}

}  // namespace

TEST(RegisterOfTheOtherBranch, IsAnErrorThatSaysWhere) {
  int count = 0;
  for (const auto &file : recorded_artifacts({".so"})) {
    if (fs::path(file).stem() != "branches") continue;
    SCOPED_TRACE(file);
    ++count;
    const Vm vm(Module::load(file));
    const bool is_compiled = fs::path(file).parent_path().parent_path().filename() == "compiled";
    for (const std::string function : {"run", "run_four"}) {
      for (int i = 0; i < 2; ++i) {  // also after the other branch has run
        if (is_compiled) {           // machine code has no registers to name
          expect_throws(
              [&] { run(vm, function.c_str(), false); }, OPD_INVALID_ARGUMENT,
              "vm.builtin.alloc_tensor: storage must be opdyno.vm.Storage, but is None (in " + function + ")");
        } else {
          expect_throws([&] { run(vm, function.c_str(), false); }, OPD_BAD_FORMAT,
                        "is read before it is written in " + function + ", instruction ");
        }
        EXPECT_EQ(to_floats(run(vm, function.c_str(), true)), (std::vector<float>{4, 16, 36, 64}));
      }
    }
  }
  EXPECT_GE(count, 2) << "one in either mode";
}

TEST(RegisterOfTheOtherBranch, HasTheNameThatTvmsListingShows) {
  const Vm vm(Module::load(interop_data("/0.27/branches.so")));
  // branches.txt, @run: instruction 6 is `If %3, 16`, and the second of its other branch is `alloc_tensor in: %5`.
  expect_throws([&] { run(vm, "run", false); }, OPD_BAD_FORMAT,
                "register %5 is read before it is written in run, instruction 23, a call of vm.builtin.alloc_tensor");
}
