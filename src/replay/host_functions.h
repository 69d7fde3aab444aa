// Host functions that a program calls: finds them, and replaces them by their captured results.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replay/captured_call.h"
#include "vm/vm.h"

namespace opd {

// Calls a host function by name; the callee is captured as a host function.
inline constexpr std::string_view kCallPyFunc = "vm.builtin.call_py_func";

// Global functions that the program uses and that neither its modules nor this library offer; sorted.
std::vector<std::string> host_functions_of(const Vm &vm);
// For values in captures: returns no name for host functions, because the replay has only their results. Both arguments
// must outlive the returned function.
ValueWriter::NameOf names_in(const Vm &vm, const std::vector<std::string> &host_functions);

// Supplies the captured arguments and, in order, the results of host functions. Compares the arguments that these
// functions get with the captured ones. For one thread.
class Playback {
 public:
  // `capture` must outlive it.
  Playback(const CapturedCall &capture, DeviceMove move) : capture_(capture), move_(move) {}

  // Makes the call's arguments; once, before anything is played. `vm` must outlive this object and has the functions
  // that they name.
  std::vector<Value> make_args(Vm &vm);
  bool offers(std::string_view name) const { return std::ranges::count(capture_.call.host_functions, name) > 0; }
  Value play(const std::string &name, Args args);  // throws the function's captured error
  void rewind() { next_ = 0, maker_->rewind(args_made_); }
  const std::string &raised() const { return raised_; }    // the function that raised the last error; "": none
  const std::string &problem() const { return problem_; }  // the first one; "" if everything matched the capture
  void check_end();                                        // reports a problem if captured calls remain

 private:
  void note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  std::string label(const std::string &name) const {
    return concat(name, ", call ", next_ + 1, " of a function of the host,");
  }

  const CapturedCall &capture_;
  const DeviceMove move_;
  std::optional<ValueMaker> maker_;
  ValueMaker::Mark args_made_;
  size_t next_ = 0;
  std::string raised_, problem_;
};

// A module that offers the functions of a playback.
Ref<Module> make_playback_module(std::shared_ptr<Playback> playback);

}  // namespace opd
