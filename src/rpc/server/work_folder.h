// The files of a session, in a directory that is removed with it. Names from clients cannot lead out of it.
#pragma once
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cache_directory.h"
#include "base/error.h"
#include "base/file.h"
#include "module/allowed_modules.h"

namespace opd::rpc {

class WorkFolder {
 public:
  // `parent` "": the system's temporary folder. `allowed`: files that may be loaded; null: all.
  WorkFolder(const std::string &parent, uint64_t most_bytes, std::shared_ptr<const AllowedModules> allowed = nullptr)
      : directory_(parent.empty() ? std::filesystem::temp_directory_path().string() : parent),
        most_bytes_(most_bytes),
        allowed_(std::move(allowed)) {}

  const std::string &directory() const { return directory_.path(); }
  const std::shared_ptr<const AllowedModules> &allowed() const { return allowed_; }

  // Throws OPD_INVALID_ARGUMENT unless the name is a plain file name.
  std::string path(std::string_view name) const {
    constexpr size_t kMostName = 255;
    const bool is_name = !name.empty() && name.size() <= kMostName && name.front() != '.' &&
                         std::ranges::all_of(name, [](unsigned char c) { return c >= 0x20 && c != '/' && c != 0x7F; });
    require(is_name, "\"", std::string(name.substr(0, kMostName)),
            "\" cannot be the name of a session's file: a name must have 1 to 255 bytes, must not contain / or control "
            "characters, and must not begin with a dot");
    return directory_.file(name);
  }

  // throws OPD_OUT_OF_RANGE beyond the quota
  void write(std::string_view name, std::string_view content) {
    const std::string file = path(name);
    uint64_t used = content.size();
    for (const auto &entry : std::filesystem::directory_iterator(directory_.path()))
      if (entry.is_regular_file() && entry.path() != file) used += entry.file_size();
    if (used > most_bytes_)
      fail(OPD_OUT_OF_RANGE, "the files of the session would have ", used, " bytes with ", std::string(name),
           "; it may have ", most_bytes_);
    replace_file(file, content);
  }

  std::string read(std::string_view name) const { return read_file(path(name)); }
  void remove(std::string_view name) {
    std::error_code ignored;  // as in TVM, an absent file is not an error
    std::filesystem::remove(path(name), ignored);
  }

  // names separated by commas, as TVM's clients expect
  std::string list() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(directory_.path()))
      if (const std::string name = entry.path().filename().string(); name.front() != '.') names.push_back(name);
    std::ranges::sort(names);
    return joined(names, ",");
  }

 private:
  BuildDirectory directory_;
  uint64_t most_bytes_;
  const std::shared_ptr<const AllowedModules> allowed_;
};

}  // namespace opd::rpc
