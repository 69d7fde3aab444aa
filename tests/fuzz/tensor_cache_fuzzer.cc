// The JSON of a tensor cache, in a directory with one shard of 4096 bytes: it gives an error, or tensors that can be
// read.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "load_params.h"

namespace {

struct Directory {
  std::string path;
  Directory() {
    const char *base = std::getenv("TMPDIR");
    path = std::string(base ? base : "/tmp") + "/opdyno-fuzz-XXXXXX";
    if (!::mkdtemp(path.data())) std::abort();
    write("params_shard_0.bin", std::string(4096, 'x').data(), 4096);
  }
  ~Directory() {
    for (const char *name : {"/params_shard_0.bin", "/tensor-cache.json"}) ::unlink((path + name).c_str());
    ::rmdir(path.c_str());
  }
  void write(const char *name, const void *data, size_t size) const {
    std::FILE *file = std::fopen((path + "/" + name).c_str(), "wb");
    if (!file || std::fwrite(data, 1, size, file) != size || std::fclose(file)) std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Directory directory;
  directory.write("tensor-cache.json", data, size);
  for (const int32_t eager : {0, 1}) {
    opd_params_options options;
    opd_params_options_init(&options);
    options.copy = options.verify_checksums = eager;
    opd_params *params = nullptr;
    if (opd_error *error = opd_params_open(directory.path.c_str(), &options, &params)) {
      if (params || !*opd_error_message(error)) std::abort();
      opd_error_release(error);
      continue;
    }
    read_params(params);
    opd_params_release(params);
  }
  return 0;
}
