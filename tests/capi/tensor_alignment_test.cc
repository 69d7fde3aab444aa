// Where the elements of a foreign tensor may lie: each dtype at a multiple of its scalar's size, of 8 bytes at most.
#include <cstdint>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

alignas(64) char memory[256];

// "" if a tensor of two such elements may begin so many bytes behind a multiple of 64.
std::string refusal(DLDataType dtype, size_t offset, bool by_byte_offset, int64_t count = 2) {
  static int64_t shape[1];
  shape[0] = count;
  DLManagedTensor lent{};
  lent.dl_tensor = {
      memory + (by_byte_offset ? 0 : offset), {kDLCPU, 0}, 1, dtype, shape, nullptr, by_byte_offset ? offset : 0};
  Tensor tensor;
  opd_error *error = opd_tensor_from_dlpack(&lent, tensor.out());
  return error ? Error(error).message() : "";
}

struct Case {
  DLDataType dtype;
  size_t alignment;
};
constexpr Case kCases[] = {
    {{kDLInt, 8, 1}, 1},      {{kDLBool, 8, 1}, 1},      {{kDLUInt, 16, 1}, 2},  {{kDLFloat, 16, 1}, 2},
    {{kDLBfloat, 16, 1}, 2},  {{kDLFloat, 32, 1}, 4},    {{kDLInt, 64, 1}, 8},   {{kDLFloat, 64, 1}, 8},
    {{kDLComplex, 64, 1}, 8}, {{kDLComplex, 128, 1}, 8}, {{kDLFloat, 32, 4}, 4}, {{kDLInt, 8, 16}, 1},
};

TEST(ForeignTensors, BeginAtMultiplesOfTheirScalarsSize) {
  for (const auto &[dtype, alignment] : kCases)
    for (size_t offset = 0; offset <= 16; ++offset)
      for (const bool by_byte_offset : {false, true}) {
        const std::string problem = refusal(dtype, offset, by_byte_offset);
        const std::string where = text_of(opd_dtype_to_string, dtype) + " at " + std::to_string(offset);
        if (offset % alignment == 0) {
          EXPECT_EQ(problem, "") << where;
          continue;
        }
        EXPECT_NE(problem.find("must be aligned to " + std::to_string(alignment) + " bytes, but start " +
                               std::to_string(offset % alignment) + " bytes after a multiple of"),
                  std::string::npos)
            << where << ": " << problem;
      }
}

TEST(ForeignTensors, WithoutElementsBeginAnywhere) { EXPECT_EQ(refusal({kDLFloat, 64, 1}, 1, false, 0), ""); }

}  // namespace
