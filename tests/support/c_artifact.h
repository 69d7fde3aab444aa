// Shared libraries made from C sources while a test runs, as TVM's exports look to their loader.
#pragma once
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace opdyno_test {

/** A directory of this process that goes away with it. */
inline const std::string &scratch_directory() {
  struct Directory {
    std::string path = (std::filesystem::temp_directory_path() / "opdyno-test-XXXXXX").string();
    const pid_t owner = getpid();
    Directory() {
      if (!mkdtemp(path.data())) std::abort();
    }
    ~Directory() {
      std::error_code ignored;
      if (getpid() == owner) std::filesystem::remove_all(path, ignored);
    }
  };
  static const Directory directory;
  return directory.path;
}

/** An empty directory in that one. */
inline std::string fresh_directory(const std::string &name) {
  const std::string path = scratch_directory() + "/" + name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

inline std::string write_text(const std::string &name, const std::string &text) {
  const std::string path = scratch_directory() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

inline std::string read_bytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/** The number of a file. One that takes its place has another. */
inline ino_t number_of(const std::string &path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

/** Compiles a C source to a shared library in the scratch directory and gives its path. `flags` follow the source. */
inline std::string build_library(const std::string &name, const std::string &source, const std::string &flags = "") {
  const std::string text = write_text(name + ".c", source), path = scratch_directory() + "/" + name + ".so";
  const char *cc = std::getenv("CC");
  const std::string command =
      std::string(cc && *cc ? cc : "cc") + " -O1 -shared -fPIC -o '" + path + "' '" + text + "' " + flags;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return path;
}

/** What the sources of artifacts share: the value, and TVM's functions as they are declared there. */
inline const std::string kArtifactHead = R"(
#include <stdint.h>
typedef struct { int32_t type; uint32_t length; union { int64_t i; double f; void *p; const char *s; } u; } Any;
extern void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t num_parts);
static int fail(const char *kind, const char *message) {
  const char *parts[2] = {"artifact: ", message};
  TVMFFIErrorSetRaisedFromCStrParts(kind, parts, 2);
  return -1;
}
#define SLOT(result, name, ...) __attribute__((weak)) result (*__##name)(__VA_ARGS__);
)";

// As C++ with tvm-ffi's headers, which checks arguments itself; it gives their number.
inline const std::string kTyped = kArtifactHead + R"(
extern void TVMFFIErrorSetRaised(void *error);
int __tvm_ffi_typed(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args;
  if (n < 0) TVMFFIErrorSetRaised(0);
  result->type = 1, result->u.i = n;
  return 0;
}
)";

}  // namespace opdyno_test
