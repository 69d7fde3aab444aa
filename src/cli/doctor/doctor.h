// The checks of `opdyno doctor`: each reports what works on this machine, why the rest does not, and what fixes it. The
// judge_… functions depend only on their facts, so that tests can pass the facts of other machines. Also Probe, which
// runs work that may hang or crash.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/file.h"

namespace opd::cli {

// Runs work in a process of its own, because the work may hang, crash or print. Examples are drivers of devices and
// foreign programs.
class Probe {
 public:
  // Begins `work` in a copy of this process; its result is the answer.
  static Probe of_function(const std::function<std::string()> &work);
  // Begins a program; its standard output is the answer.
  static Probe of_program(const std::vector<std::string> &command);
  Probe(Probe &&from) noexcept
      : child_(std::exchange(from.child_, -1)),
        answers_(std::move(from.answers_)),
        problem_(std::move(from.problem_)) {}
  ~Probe();  // kills the process and its child processes

  static constexpr std::string_view kTooLate = "did not end in time";
  struct Answer {
    bool is_whole;     // the process ended with exit code 0 in time
    std::string text;  // at most 64 KiB
    std::string why;   // if it is not whole: kTooLate, "ended by signal 11 (Segmentation fault)", "could not
                       // be started: …"
  };
  // Call it once. If the process could not be started, the answer says why.
  Answer wait(std::chrono::steady_clock::time_point deadline);

 private:
  static Probe begin(const std::function<int(int to)> &child);
  Probe(pid_t child, Descriptor answers) : child_(child), answers_(std::move(answers)) {}
  explicit Probe(std::string problem) : child_(-1), problem_(std::move(problem)) {}
  int end();  // the status of waitpid()

  pid_t child_;
  Descriptor answers_;
  std::string problem_;  // reason why there is no process
};

enum class State { ok, limited, missing };

struct Check {
  std::string name;
  State state;
  std::string cause;        // one sentence without its full stop
  std::string remedy = {};  // a command line; "" if there is none
};
using Checks = std::vector<Check>;

// Checks that timed out get a longer limit.
inline std::string remedy_of(const Probe::Answer &answer) {
  return answer.why == Probe::kTooLate ? "opdyno doctor --within 10s" : "";
}

// ---- the processor's counters, energy

struct CounterFacts {
  // Errors of perf_event_open(2) for a hardware event, for a kernel event that occurs in programs, and for one that
  // occurs in the kernel; 0: it can be counted.
  int hardware_error = 0, software_error = 0, kernel_error = 0;
  std::vector<std::string> left_out;  // usual events that cannot be counted
  std::string paranoid;               // the level in /proc/sys/kernel/perf_event_paranoid; "" if there is none
  std::string container, hypervisor;  // "Docker", "KVM"; "": none
  bool has_seccomp = false;
};
CounterFacts counter_facts();
Checks judge_counters(const CounterFacts &facts);  // counters, kernel-events

struct EnergyFacts {
  std::string problem;  // problem of the collector; "": it works
  bool has_domain = false;
  std::string hypervisor;
};
EnergyFacts energy_facts();
Check judge_energy(const EnergyFacts &facts);
Check check_papi();  // may take long, like all checks below except those of the machine

// ---- settings of the machine

std::string container_name();   // "Docker"; "" outside of containers, as far as known
std::string hypervisor_name();  // "KVM (QEMU)"; "" on hardware, as far as known
Check check_clock();
Check check_governor();
Check check_quota();

// ---- needs of programs

Check check_cache(std::chrono::milliseconds limit);
Check check_compiler(std::chrono::milliseconds limit);

struct DeviceFacts {
  std::string kind;
  std::vector<std::string> devices;  // "cuda:0 NVIDIA H100, driver 535.104"
  std::string absence;
  bool has_nvidia_gpu = false;  // there is one on the PCI bus
  std::string container;
  std::string distribution;  // ID of /etc/os-release
};
Check check_device(const std::string &kind);  // cuda, opencl, vulkan
Check judge_device(const DeviceFacts &facts);
Check check_nvml();
Check check_tls();

// ---- the active Python

// The path of the active Python: $VIRTUAL_ENV's, else python3 in PATH; "" if there is none.
std::string active_python();
// Asks a Python for its packages.
Probe ask_python(const std::string &python);
// The checks "python", "tvm" and "tvm-ffi", from the answer of ask_python(). `loaded` and `tested` are the releases of
// TVM whose artifacts this build supports.
Checks judge_python(const std::string &python, const Probe::Answer &answer, const std::vector<std::string> &loaded,
                    const std::vector<std::string> &tested);

}  // namespace opd::cli
