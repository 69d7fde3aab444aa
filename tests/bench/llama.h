// The decoder of examples/tiny_llama, which both sides run: a token is decoded after a prompt, and taken back.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness.h"

namespace bench {

inline constexpr int64_t kPrompt = 32, kHidden = 64;
inline const std::vector<int64_t> kCacheSizes = {4, 256, 64, 16, 0};  // sequences, tokens, chunk, page, windows

// The weights' shapes, as build.py makes them.
inline std::vector<std::vector<int64_t>> weight_shapes() {
  const std::vector<std::vector<int64_t>> layer = {{64}, {128, 64}, {64, 64}, {64}, {128, 64}, {64, 128}};
  std::vector<std::vector<int64_t>> shapes = {{97, 64}};
  for (int i = 0; i < 2; ++i) shapes.insert(shapes.end(), layer.begin(), layer.end());
  shapes.insert(shapes.end(), {{64}, {97, 64}});
  return shapes;
}

struct Llama {
  bool is_compiled;  // exec_mode="compiled"
  bool has_kernels;  // else they compute nothing, so that what is measured is the host's part

  std::string library() const {
    return is_compiled ? artifact("language/compiled/tiny_llama")
                       : artifact("language/tiny_llama", "../language/tiny_llama");
  }
  // Whose kernels come first; "" for the library's own.
  std::string kernels() const {
    if (has_kernels) return "";
    if (settings().programs.empty()) throw Missing("no_kernels.c is not compiled");
    return settings().programs + "/no_kernels.so";
  }
};

}  // namespace bench
