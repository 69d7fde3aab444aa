// Kernels for Vulkan: compiled from GLSL by glslangValidator, and in the form of TVM's modules.
#pragma once
#include "support/embedded_modules.h"

namespace opdyno_test {

inline bool has_glsl_compiler() { return std::system("glslangValidator --version > /dev/null 2>&1") == 0; }

/** The SPIR-V of a compute shader with main(), whose entry point then has the kernel's name. */
inline std::string compile_glsl(const std::string &kernel, const std::string &source,
                                const std::string &options = "--target-env vulkan1.1") {
  const std::string text = write_text(kernel + ".comp", source), path = scratch_directory() + "/" + kernel + ".spv";
  const std::string command = "glslangValidator --quiet -V " + options + " -S comp -e " + kernel + " --sep main -o '" +
                              path + "' '" + text + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return read_bytes(path);
}

/** flag: 1 if the scalars are in a uniform buffer. */
inline std::string vulkan_code(const std::string &spirv, uint32_t flag = 0) {
  return raw(flag) + number(spirv.size() / 4) + spirv;
}

}  // namespace opdyno_test
