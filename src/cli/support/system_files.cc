#include "cli/support/system_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

std::string system_path(const std::string &path) {
  const char *root = std::getenv("OPDYNO_SYSTEM_ROOT");
  return root && *root ? cat(root, path) : path;
}

// Files of /proc report the size 0, so they are read until they end. With O_NONBLOCK, a FIFO without a writer does not
// block.
std::string system_text(const std::string &path) {
  constexpr size_t most = 65536;
  const Descriptor file(open(system_path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string text;
  char bytes[4096];
  while (file && text.size() < most) {
    const ssize_t count = read(file.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(bytes, static_cast<size_t>(count));
  }
  return text;
}

std::string system_line(const std::string &path) {
  constexpr size_t most = 4096;
  const std::string text = system_text(path);
  return std::string(trim(std::string_view(text).substr(0, std::min(text.find('\n'), most))));
}

bool has_system_file(const std::string &path) { return access(system_path(path).c_str(), F_OK) == 0; }

std::vector<std::string> numbered_names(const std::string &directory, const std::string &begin) {
  std::vector<std::pair<int64_t, std::string>> found;
  const std::unique_ptr<DIR, int (*)(DIR *)> open_directory(opendir(system_path(directory).c_str()), closedir);
  while (const dirent *entry = open_directory ? readdir(open_directory.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(begin)) continue;
    if (const auto number = read_int(name.substr(begin.size())); number && *number >= 0)
      found.emplace_back(*number, name);
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto &[number, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace opd::cli
