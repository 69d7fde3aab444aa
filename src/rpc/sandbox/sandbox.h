// Restricts a session's process: it can load, compile and run programs on the devices here, with the files of the
// session. The restrictions hold for the thread and its descendants, and cannot be undone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace opd::rpc {

struct SandboxOptions {
  bool is_wanted = false;
  bool network = false;                 // the session may connect
  std::vector<std::string> read_paths;  // further paths that it may read and execute
};

// The restrictions that this kernel enforces, and those that it cannot enforce. Each is a phrase.
struct SandboxFacts {
  std::vector<std::string> enforced, missing;
};
SandboxFacts sandbox_facts(const SandboxOptions &options);

// Throws OPD_NOT_FOUND if a path does not exist.
void require_sandbox(const SandboxOptions &options);

// Enters the sandbox. The session can write only to its `folder`. Caches of libraries and compilers move there by
// environment variables (HOME, TMPDIR and others). If the kernel does not support a restriction, it is left out; all
// other errors are thrown. Throws OPD_FAILED_PRECONDITION if the process has further threads, because they would stay
// outside.
void enter_sandbox(const SandboxOptions &options, const std::string &folder);

}  // namespace opd::rpc
