#include "module/image/library_image.h"

#include <ctime>

namespace opd {
namespace {

bool same_time(const timespec &a, const timespec &b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

// If a file changed just before it was read, it may change again without a new time stamp: clocks of file systems are
// as coarse as two seconds. Git uses the same rule.
bool is_settled(const FileState &state) {
  constexpr time_t kSeconds = 2;
  const time_t now = std::time(nullptr);
  return now - state.changed.tv_sec > kSeconds && now - state.modified.tv_sec > kSeconds;
}

}  // namespace

FileState::FileState(const struct stat &info)
    : device(info.st_dev), inode(info.st_ino), size(info.st_size), modified(info.st_mtim), changed(info.st_ctim) {}

bool FileState::operator==(const FileState &other) const {
  return device == other.device && inode == other.inode && size == other.size && same_time(modified, other.modified) &&
         same_time(changed, other.changed);
}

LibraryImage::LibraryImage(const InputFile &file) {
  const FileState before(file.state());
  if (may_write_file(static_cast<size_t>(before.size))) copy_ = LibraryCopy::in_memory(file.path());
  if (copy_.exists()) {
    mapped_.emplace(copy_.fd(), copy_.fill_from(file), file.path());
    if (is_settled(before) && before == FileState(file.state())) origin_ = before;
  } else {
    content_ = file.read();
  }
  file_.emplace(mapped_ ? mapped_->bytes() : as_bytes(content_), file.path());
}

LibraryImage::LibraryImage(Bytes bytes, const std::string &name) { file_.emplace(bytes, name); }

void LibraryImage::prepare(const std::vector<LibraryCopy::Edit> &edits, const Directories &directories) {
  if (prepared_) return;
  if (copy_.exists()) {
    copy_.write({}, edits);
  } else {
    const size_t size = file_->bytes().size();
    if (!may_write_file(size))
      fail(OPD_IO, "no private copy of ", name(), " can be made: it has ", size,
           " bytes, more than this process may write to a file (ulimit -f)");
    copy_ = LibraryCopy::in_memory(name());
    if (!copy_.exists()) copy_ = LibraryCopy::on_disk(name(), directories());
    copy_.write(file_->bytes(), edits);
  }
  copy_.seal();
  prepared_ = true;
}

bool LibraryImage::is_of(const std::string &path, const FileState &state) const {
  return may_serve_again() && name() == path && *origin_ == state;
}

}  // namespace opd
