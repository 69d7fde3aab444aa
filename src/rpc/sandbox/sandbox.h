// Restricts the process of a session to what clients are for: to load, compile and run programs on the devices here,
// with the files of the session. All of it holds for the thread and what it starts, and cannot be undone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace opd::rpc {

struct SandboxOptions {
  bool is_wanted = false;
  bool network = false;                 // the session may connect
  std::vector<std::string> read_paths;  // that it may read and execute, too
};

// The restrictions that this kernel enforces, and those that it cannot: a phrase each.
struct SandboxFacts {
  std::vector<std::string> enforced, missing;
};
SandboxFacts sandbox_facts(const SandboxOptions &options);

// Throws OPD_NOT_FOUND if a path is not there.
void require_sandbox(const SandboxOptions &options);

// Enters it. `folder` is the session's, the only one that it can write to: also the caches of libraries and compilers
// lie there, so the environment changes (HOME, TMPDIR and others). A restriction that the kernel does not support is
// left out; all other errors are thrown. Throws OPD_FAILED_PRECONDITION if the process has further threads: these would
// stay outside.
void enter_sandbox(const SandboxOptions &options, const std::string &folder);

}  // namespace opd::rpc
