// Repeats a captured call and compares it with the capture.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/difference.h"
#include "profiler/vm_profile.h"
#include "replay/captured_call.h"
#include "replay/host_functions.h"
#include "report/report.h"

namespace opd {

struct ReplayOptions {
  bool runs = true;
  Ref<Module> module;  // replaces the captured program; null: keeps it
  Ref<Function> instrument;
  std::string minimise;  // path; "": no minimising
  Tolerances tolerances;
  int64_t timeout_ns = 0;
  CancelToken *cancel = nullptr;
  std::optional<DLDevice> device;  // replaces the VM's first device
};

enum class LeafState : uint8_t { kEqual, kAgrees, kDiffers, kOnlyCaptured, kOnlyNow };

// A part of the result, captured and now.
struct ComparedLeaf {
  const KeptLeaf *captured = nullptr, *now = nullptr;
  LeafState state = LeafState::kEqual;
  std::optional<Difference> difference;  // difference of kept elements
  bool has_other_type = false;           // the type differs, or the device from the expected one
};

// The first operator that leaves other contents than the captured one.
struct OperatorDifference {
  std::string name, captured_name;
  size_t number = 0;  // index among the operators of the call
};

class Replay {
 public:
  Replay(const std::string &path, ReplayOptions options);

  const Ref<Module> &module() const { return module_; }  // null if the capture has none
  Ref<Report> to_report() const;                         // defined in replay_report.cc
  Ref<Report> profile(const VmProfileOptions &how);      // null unless the call returned

 private:
  friend class ReplayReport;
  friend class ReplayObserver;

  void prepare();
  VmSettings moved_settings();  // settings of the captured VM after the move
  void run();
  void compare_results();
  void compare_leaf(const KeptLeaf &captured, const KeptLeaf &now);
  bool is_same() const;
  std::string verdict() const;
  std::string result_text() const;
  CallSettings settings() const;
  bool runs_other_program() const;

  const ReplayOptions options_;
  const std::unique_ptr<CapturedCall> capture_;
  Ref<Module> module_;
  Ref<Vm> vm_;
  DeviceMove move_;
  std::shared_ptr<Playback> playback_;
  std::vector<Value> args_;
  std::vector<const char *> names_;

  Ref<Error> failure_;
  std::string result_bytes_;
  KeptValue result_;
  std::vector<KeptLeaf> captured_leaves_, leaves_;
  std::vector<ComparedLeaf> compared_;
  std::optional<OperatorDifference> operator_difference_;
  size_t num_operators_ = 0;
  std::string minimised_;
};

}  // namespace opd
