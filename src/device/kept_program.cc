#include "device/kept_program.h"

#include "base/build_directory.h"
#include "base/cache_directory.h"
#include "base/file.h"

namespace opd {
namespace {

constexpr std::string_view kSuffix = ".program";

}  // namespace

KeptProgram::KeptProgram(std::string_view wanted, const ContentHash &made_of)
    : most_bytes_(most_kept_bytes()), key_(made_of.hex()) {
  if (most_bytes_ == 0) return;
  try {
    directory_ = cache_directory(std::string(wanted));
  } catch (const std::exception &) {}  // the directory stays ""
}

std::string KeptProgram::path() const { return concat(directory_, "/", key_, kSuffix); }

std::optional<std::string> KeptProgram::read() const {
  if (directory_.empty()) return std::nullopt;
  try {
    return read_sealed(path());
  } catch (const std::exception &) { return std::nullopt; }
}

void KeptProgram::keep(std::string_view code) const {
  if (directory_.empty() || code.size() > most_bytes_) return;
  try {
    const BuildDirectory build(directory_);
    write_scratch_file(build.file("code"), code);
    keep_sealed(build.file("code"), directory_, key_, kSuffix);
  } catch (const std::exception &) {}  // the program also runs without a kept file
}

}  // namespace opd
