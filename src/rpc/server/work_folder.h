// The files of a session, in a directory that is removed with it. Names from clients cannot lead out of it.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/build_directory.h"
#include "module/allowed_modules.h"

namespace opd::rpc {

class WorkFolder {
 public:
  // `parent` "": the system's temporary folder. `allowed`: files that may be loaded; null: all.
  WorkFolder(const std::string &parent, uint64_t most_bytes, std::shared_ptr<const AllowedModules> allowed = nullptr);

  const std::string &directory() const { return directory_.path(); }
  const std::shared_ptr<const AllowedModules> &allowed() const { return allowed_; }

  // Throws OPD_INVALID_ARGUMENT unless the name is a plain file name.
  std::string path(std::string_view name) const;
  void write(std::string_view name, std::string_view content);  // throws OPD_OUT_OF_RANGE beyond the quota
  std::string read(std::string_view name) const;
  void remove(std::string_view name);
  std::string list() const;  // names separated by commas, as TVM's clients expect

 private:
  BuildDirectory directory_;
  uint64_t most_bytes_;
  const std::shared_ptr<const AllowedModules> allowed_;
};

}  // namespace opd::rpc
