// Machines for tests of `opdyno doctor`: the files of /proc and /sys that they have, and checks as one text.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "cli/doctor/doctor.h"
#include "cli/support/text.h"

namespace opd::cli {

using Files = std::map<std::string, std::string>;  // their contents

// A machine of which there are only these files.
class CopiedMachine {
 public:
  explicit CopiedMachine(const Files &files = {}) : root_(testing::TempDir() + "machine-XXXXXX") {
    if (!mkdtemp(root_.data())) throw std::runtime_error("no directory for " + root_);
    for (const auto &[path, content] : files) write(path, content);
    setenv("OPDYNO_SYSTEM_ROOT", root_.c_str(), 1);
  }
  ~CopiedMachine() {
    unsetenv("OPDYNO_SYSTEM_ROOT");
    std::filesystem::remove_all(root_);
  }
  CopiedMachine(const CopiedMachine &) = delete;
  CopiedMachine &operator=(const CopiedMachine &) = delete;
  void write(const std::string &path, const std::string &content) const {
    const std::filesystem::path place = root_ + path;
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place) << content;
  }
  const std::string &root() const { return root_; }

 private:
  std::string root_;
};

// "limited: cause [remedy]"
inline std::string shown(const Check &check) {
  const char *const states[] = {"ok", "limited", "missing"};
  return cat(check.name, " ", states[static_cast<int>(check.state)], ": ", check.cause, " [", check.remedy, "]");
}

}  // namespace opd::cli
