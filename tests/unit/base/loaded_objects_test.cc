// The program and its libraries as they lie in memory, compared with what the kernel and the files say.
#include "base/loaded_objects.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file.h"

namespace opd {
namespace {

struct Mapping {
  uint64_t begin = 0, end = 0;
};

// Where the files of this path are mapped, by /proc.
std::vector<Mapping> mappings_of(const std::string &path) {
  const std::string whole = std::filesystem::canonical(path);
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, mode, offset, device, number, file;
    fields >> range >> mode >> offset >> device >> number >> file;
    if (file != whole) continue;
    const size_t dash = range.find('-');
    found.push_back({std::stoull(range, nullptr, 16), std::stoull(range.substr(dash + 1), nullptr, 16)});
  }
  return found;
}

// The object that a function lies in.
LoadedObject object_with(const void *function) {
  const auto address = reinterpret_cast<uint64_t>(function);
  for (const LoadedObject &object : loaded_objects())
    if (object.begin <= address && address < object.end) return object;
  ADD_FAILURE() << "no object has the function";
  return {};
}

// The note of a build ID in a file: sizes of name and content, the type 3, the name "GNU"; then the content.
std::string build_id_of_file(const std::string &path) {
  const std::string content = read_file(path), note("\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0", 16);
  const size_t at = content.find(note);
  std::string text;
  for (size_t i = 0; at != std::string::npos && i < 20; ++i) {
    constexpr const char *kDigits = "0123456789abcdef";
    const auto byte = static_cast<uint8_t>(content[at + note.size() + i]);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

TEST(LoadedObjects, LieWhereTheirFilesAreMapped) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void *const of_libc = dlsym(RTLD_DEFAULT, "getpid");
  ASSERT_NE(of_libc, nullptr);
  for (const void *function : {of_libc, reinterpret_cast<void *>(&mappings_of)}) {
    const LoadedObject object = object_with(function);
    const auto parts = mappings_of(object.path);
    ASSERT_FALSE(parts.empty()) << object.path;
    EXPECT_EQ(object.begin / page * page, parts.front().begin) << object.path;
    EXPECT_GE((object.end + page - 1) / page * page, parts.back().end) << object.path;
    // What has no file lies directly behind, as variables that begin with 0 do.
    EXPECT_LE(object.end, parts.back().end + (uint64_t{1} << 30)) << object.path;
    Dl_info info{};
    ASSERT_NE(dladdr(function, &info), 0);
    EXPECT_EQ(object.begin, reinterpret_cast<uint64_t>(info.dli_fbase)) << object.path;
    EXPECT_LE(object.base, object.begin);
  }
}

TEST(LoadedObjects, HaveTheBuildIdsOfTheirFiles) {
  size_t compared = 0;
  for (const LoadedObject &object : loaded_objects()) {
    if (object.path.empty() || object.path[0] != '/') continue;  // the kernel's own
    const std::string expected = build_id_of_file(object.path);
    if (expected.empty()) continue;  // a linker may leave it out, or make one of another length
    EXPECT_EQ(object.build_id, expected) << object.path;
    ++compared;
  }
  EXPECT_GT(compared, 0u) << "the C library has one";
}

}  // namespace
}  // namespace opd
