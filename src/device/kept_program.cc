#include "device/kept_program.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/build_directory.h"
#include "base/cache_directory.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/sealed_file.h"

namespace opd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".program";

struct File {
  fs::path path;
  fs::file_time_type used;
  uintmax_t bytes;
};

std::vector<File> kept_in(const std::string &directory) {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another process may remove it
    if (!at->path().native().ends_with(kSuffix) || !at->is_regular_file(gone)) continue;
    const File file{at->path(), at->last_write_time(gone), at->file_size(gone)};
    if (!gone) files.push_back(file);
  }
  return files;
}

// Removes what was used longest ago until at most `most_bytes` are left.
void shrink(const std::string &directory, size_t most_bytes) {
  std::vector<File> files = kept_in(directory);
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) { return a.used > b.used; });
  uintmax_t bytes = 0;
  for (const File &file : files) {
    bytes += file.bytes;
    std::error_code ignored;
    if (bytes > most_bytes) fs::remove(file.path, ignored);
  }
}

}  // namespace

KeptProgram::KeptProgram(std::string_view wanted, const ContentHash &made_of)
    : most_bytes_(bytes_from_environment("OPDYNO_KEPT_PROGRAMS_MB", 256)), key_(made_of.hex()) {
  if (most_bytes_ == 0) return;
  try {
    directory_ = cache_directory(std::string(wanted));
  } catch (const std::exception &) {}  // it stays ""
}

std::string KeptProgram::path() const { return concat(directory_, "/", key_, kSuffix); }

std::optional<std::string> KeptProgram::read() const {
  if (directory_.empty()) return std::nullopt;
  try {
    auto code = read_sealed(path());
    if (code) ::utimensat(AT_FDCWD, path().c_str(), nullptr, 0);  // it is used now
    return code;
  } catch (const std::exception &) { return std::nullopt; }
}

void KeptProgram::keep(std::string_view code) const {
  if (directory_.empty() || code.size() > most_bytes_) return;
  try {
    shrink(directory_, most_bytes_ - code.size());
    const BuildDirectory build(directory_);
    write_scratch_file(build.file("code"), code);
    keep_sealed(build.file("code"), directory_, key_, kSuffix);
  } catch (const std::exception &) {}  // the program runs without it
}

}  // namespace opd
