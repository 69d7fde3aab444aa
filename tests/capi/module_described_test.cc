// The JSON of a library, member by member.
#include <elf.h>

#include <cstring>

#include "support/embedded_modules.h"

namespace opdyno_test {
namespace {

const std::string kDescribed = kArtifactHead + R"c(
int __tvm_ffi_f(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)result;
  return n == 1 ? 0 : fail("TypeError", "f(x: Tensor([T.int64(4)], float32))");
}
__attribute__((section("zz_behind"))) const char behind[] =
    "\0gone(x: Tensor((4,), int8))\0h(y: Tensor((n,), int8))";
__asm__(".text\n.globl __tvm_ffi_g\n.type __tvm_ffi_g, %function\n.size __tvm_ffi_g, 3\n__tvm_ffi_g: nop\nnop\nnop\n"
        ".globl __tvm_ffi_h\n.type __tvm_ffi_h, %function\n.size __tvm_ffi_h, 2\n__tvm_ffi_h: nop\nnop\n"
        ".globl __tvm_ffi__metadata_f\n.type __tvm_ffi__metadata_f, %function\n.size __tvm_ffi__metadata_f, 1\n"
        "__tvm_ffi__metadata_f: nop\n");
)c";

// The bytes of segments by the flags that all of them have.
uint64_t bytes_of_segments(const std::string &library, uint32_t flags) {
  Elf64_Ehdr header;
  std::memcpy(&header, library.data(), sizeof header);
  uint64_t sum = 0;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, library.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags) sum += segment.p_memsz;
  }
  return sum;
}
std::string number_at(const std::string &json, const std::string &key) {
  const size_t at = json.find("\"" + key + "\":");
  if (at == std::string::npos) return "absent";
  const size_t begin = at + key.size() + 3;
  return json.substr(begin, json.find_first_of(",}", begin) - begin);
}

TEST(ALibrary, DescribesItsSizesFunctionsAndSignatures) {
  const std::string embedded("\0g(z: Tensor((2,), int8))\0", 26);  // which is no constant of the code
  const Module root = with_root("described", "odd.kind", embedded, kDescribed);
  const std::string json = json_of(root), file = scratch_directory() + "/described.so", bytes = read_bytes(file);
  EXPECT_TRUE(json.starts_with("{\"kind\":\"odd.kind\",\"file\":\"\",\"supported\":false,\"size_bytes\":26,")) << json;
  const size_t at = json.find("{\"kind\":\"library\"");
  ASSERT_NE(at, std::string::npos) << json;
  const std::string library = json.substr(at);
  EXPECT_TRUE(library.starts_with(
      "{\"kind\":\"library\",\"file\":\"" + file +
      "\",\"tvm_release\":\"0.24 or newer\",\"library_copy\":true,\"size_bytes\":" + std::to_string(bytes.size()) +
      ",\"memory_bytes\":" + std::to_string(bytes_of_segments(bytes, PF_R)) +
      ",\"code_bytes\":" + std::to_string(bytes_of_segments(bytes, PF_X)) + ",\"embedded_bytes\":"))
      << library;
  // The size, seven words of the tree, and the texts with a word each: "odd.kind", its bytes, "_lib".
  EXPECT_EQ(number_at(library, "embedded_bytes"), std::to_string(8 + 6 * 8 + 8 + 8 + 8 + 26 + 8 + 4));
  const std::string functions = library.substr(library.find("\"function_bytes\":{"));
  EXPECT_EQ(number_at(functions, "g"), "3");
  EXPECT_EQ(number_at(functions, "h"), "2");
  EXPECT_NE(number_at(functions, "f"), "0");
  EXPECT_EQ(functions.find("_metadata_f"), std::string::npos);
  const std::string f = R"j("f":"f(x: Tensor([T.int64(4)], float32))")j", h = R"j("h":"h(y: Tensor((n,), int8))")j";
  EXPECT_TRUE(holds(functions, "},\"signatures\":{" + f + "," + h + "}") ||
              holds(functions, "},\"signatures\":{" + h + "," + f + "}"))
      << functions;
}

}  // namespace
}  // namespace opdyno_test
