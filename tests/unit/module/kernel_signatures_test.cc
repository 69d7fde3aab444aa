// The signatures of kernels among a library's constants.
#include <gtest/gtest.h>

#include <vector>

#include "module/library_facts.h"

namespace opd {
namespace {

using namespace std::string_view_literals;

struct Found {
  std::string_view kernel, text;
};
void expect_in(const std::vector<std::string_view> &constants, const std::vector<Found> &all) {
  std::vector<Bytes> parts;
  for (const std::string_view text : constants) parts.push_back(as_bytes(text));
  const KernelSignatures signatures = kernel_signatures(parts);
  for (const auto &[kernel, text] : all) {
    const auto found = signatures.find(kernel);
    EXPECT_EQ(found == signatures.end() ? "" : found->second, text) << kernel;
  }
}

constexpr std::string_view kAdd = "add(x: Tensor([T.int64(4)], float32), y: Tensor([T.int64(4)], float32))",
                           kMul = "mul(a: Tensor((n,), int8))";

TEST(KernelSignatures, AreTextsBetweenZeros) {
  expect_in({"noise\0add(x: Tensor([T.int64(4)], float32), y: Tensor([T.int64(4)], float32))\0more\0"
             "mul(a: Tensor((n,), int8))\0"sv},
            {{"add", kAdd}, {"mul", kMul}, {"noise", ""}, {"", ""}, {"ad", ""}});
  expect_in({kMul}, {{"mul", kMul}});  // from the first byte to the last
  expect_in({"mul(a: Tensor((n,), int8))\0add(x: Tensor([T.int64(4)], float32), y: Tensor([T.int64(4)], float32))"sv},
            {{"add", kAdd}, {"mul", kMul}});
  expect_in({kAdd, "", kMul}, {{"add", kAdd}, {"mul", kMul}});
  expect_in({}, {{"add", ""}});
}

TEST(KernelSignatures, AreWholeAndOfTheFirstTextThatHasTheName) {
  expect_in({"mul(a: Tensor((n,), int8)\nbut\0mul(b: Tensor(())\0mul(a: Tensor((n,), int8))\0"sv},
            {{"mul", "mul(b: Tensor(())"}});
  expect_in({"mul(a: Tensor((n,), int8)) is expected\0"sv}, {{"mul", ""}});
  expect_in({"mul(a: int)\0x: Tensor\0"sv}, {{"mul", ""}});
}

}  // namespace
}  // namespace opd
