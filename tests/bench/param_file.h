// A TVM param dict of 200 MiB: 12 matrices of 16 MiB, each with a vector of 8 KiB, and a rest. Both sides read and
// write such a file in a temporary directory.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "harness.h"

namespace bench {

struct ParamFile {
  std::string directory, path;
  uint64_t bytes = 0;  // of the tensors

  ParamFile() {
    const char *base = std::getenv("TMPDIR");
    directory = std::string(base ? base : "/tmp") + "/opdyno-bench-XXXXXX";
    if (!mkdtemp(directory.data())) throw std::runtime_error("there is no place for temporary files");
    path = directory + "/file.params";
    write();
  }
  ~ParamFile() {
    for (const char *name : {"/file.params", "/saved.params"}) unlink((directory + name).c_str());
    rmdir(directory.c_str());
  }
  std::string saved() const { return directory + "/saved.params"; }

  // The file of this process, made when it is first asked for.
  static const ParamFile &get() {
    static const ParamFile file;
    return file;
  }

 private:
  template <class T>
  static void put(std::ofstream &out, T value) {
    out.write(reinterpret_cast<const char *>(&value), sizeof value);
  }

  void write() {
    const int64_t scale = settings().quick ? 64 : 1;  // of 200 MiB
    std::vector<int64_t> sizes;                       // in float32
    for (int i = 0; i < 12; ++i) sizes.push_back((4 << 20) / scale), sizes.push_back(2048);
    int64_t sum = 0;
    for (const int64_t size : sizes) sum += size;
    sizes.push_back((50 << 20) / scale - sum + (settings().quick ? 24 * 2048 : 0));
    std::ofstream out(path, std::ios::binary);
    put<uint64_t>(out, 0xF7E58D4F05049CB7);
    put<uint64_t>(out, 0);
    put<uint64_t>(out, sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::string name = "layer" + std::to_string(i);
      put<uint64_t>(out, name.size());
      out << name;
    }
    put<uint64_t>(out, sizes.size());
    for (const int64_t size : sizes) {
      put<uint64_t>(out, 0xDD5E40F096B4A13F);
      put<uint64_t>(out, 0);
      for (const int32_t number : {1, 0, 1}) put(out, number);  // the CPU, one dimension
      put<uint32_t>(out, 2 | 32 << 8 | 1 << 16);                // float32
      put<int64_t>(out, size);
      put<int64_t>(out, 4 * size);
      const std::vector<float> elements(static_cast<size_t>(size), 0.5f);
      out.write(reinterpret_cast<const char *>(elements.data()), 4 * size);
      bytes += 4 * static_cast<uint64_t>(size);
    }
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
  }
};

}  // namespace bench
