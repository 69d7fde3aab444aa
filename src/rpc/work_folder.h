// The files of a session: a directory of its own, which ends with it, and into which names of clients cannot lead out.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/build_directory.h"

namespace opd::rpc {

class WorkFolder {
 public:
  // `parent` "": that of the system for temporary files.
  WorkFolder(const std::string &parent, uint64_t most_bytes);

  // Throws OPD_INVALID_ARGUMENT for a name that is more than a file's in the directory.
  std::string path(std::string_view name) const;
  void write(std::string_view name, std::string_view content);  // throws OPD_OUT_OF_RANGE beyond the quota
  std::string read(std::string_view name) const;
  void remove(std::string_view name);
  std::string list() const;  // names with commas between, as TVM's clients read them

 private:
  BuildDirectory directory_;
  uint64_t most_bytes_;
};

}  // namespace opd::rpc
