// Calls an artifact as TVM did when it recorded its answers, and compares.
#pragma once
#include "interop/host_functions.h"
#include "interop/recorded.h"

namespace opdyno_test {

/** A library or program that can be called without looking at which it is. */
class Artifact {
 public:
  explicit Artifact(const std::string &path) : module_(load(path)) {
    if (std::string(opd_module_kind(module_.get())) == "relax.VMExecutable") vm_ = Vm(module_);
  }

  const Vm &vm() const { return vm_; }  // without a handle if it has no VM program
  opd_error *call(const std::string &name, const std::vector<opd_value> &args, Value &result) const {
    const auto count = static_cast<int32_t>(args.size());
    if (vm_) return opd_vm_call(vm_.get(), name.c_str(), args.data(), count, nullptr, result.out());
    return opd_function_call(module_.function(name.c_str()).get(), args.data(), count, result.out());
  }

 private:
  static Module load(const std::filesystem::path &path) {
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

/** Makes a recorded call and compares what it gives. */
inline void replay(const Artifact &artifact, const Case &c) {
  const std::vector<Value> inputs = c.arguments();
  const std::vector<opd_value> args = views_of(inputs);
  Value result;
  opd_error *error = artifact.call(c.function(), args, result);
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

}  // namespace opdyno_test
