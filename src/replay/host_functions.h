// Functions of the host that a program calls: which these are, and their results from a capture in their place.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replay/captured_call.h"
#include "vm/vm.h"

namespace opd {

// Calls a function of the host by name, so that it is captured as one.
inline constexpr std::string_view kCallPyFunc = "vm.builtin.call_py_func";

// Global functions that the program uses, and which neither its modules nor this library offer; sorted.
std::vector<std::string> host_functions_of(const Vm &vm);
// For values in captures: functions of the host have no name, because the replay has only their results. Both must
// outlive what is returned.
ValueWriter::NameOf names_in(const Vm &vm, const std::vector<std::string> &host_functions);

// Gives the captured arguments, and the results of functions in their order, and compares what these are given. For one
// thread.
class Playback {
 public:
  // `capture` must outlive it.
  Playback(const CapturedCall &capture, DeviceMove move) : capture_(capture), move_(move) {}

  // Of the call; once, before anything is played. `vm`, which must outlive it, has the functions that they name.
  std::vector<Value> make_args(Vm &vm);
  bool offers(std::string_view name) const;
  Value play(const std::string &name, Args args);  // throws what the function raised
  void rewind() { next_ = 0, maker_->rewind(args_made_); }
  const std::string &raised() const { return raised_; }    // the function that raised the last error; "" if none did
  const std::string &problem() const { return problem_; }  // the first one: "" if all was as captured
  void check_end();                                        // a problem if calls are left

 private:
  void note(std::string problem);
  std::string label(const std::string &name) const;

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
