// The places of a tensor's elements in an image. Expected sizes follow from TVM's rule (texture.h of its OpenCL
// runtime): which dimensions are layers, rows and columns.
#include "device/texture.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace opd {
namespace {

constexpr DLDataType kFloat32{kDLFloat, 32, 1}, kFloat16{kDLFloat, 16, 1};

struct Pixels {
  int64_t width, height, layers;
};
void expect_pixels(const char *scope, const std::vector<int64_t> &dims, const Pixels &expected) {
  const ImageShape image = image_shape(scope, dims, kFloat32);
  EXPECT_EQ(image.width, expected.width) << scope << " " << dims.size();
  EXPECT_EQ(image.height, expected.height) << scope << " " << dims.size();
  EXPECT_EQ(image.layers, expected.layers) << scope << " " << dims.size();
}

std::string refusal_of(const char *scope, const std::vector<int64_t> &dims) {
  try {
    image_shape(scope, dims, kFloat32);
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_INVALID_ARGUMENT);
    return e.error()->message;
  }
  return "no error";
}

TEST(ATexture, HasTheLayersRowsAndColumnsOfItsScope) {
  expect_pixels("global.texture", {2, 3, 5, 7, 4}, {7, 5, 6});
  expect_pixels("global.texture", {3, 5, 7, 4}, {7, 5, 3});
  expect_pixels("global.texture", {5, 7, 4}, {7, 5, 1});
  expect_pixels("global.texture-nhwc", {2, 3, 5, 7, 4}, {35, 3, 2});
  expect_pixels("global.texture-nhwc", {2, 3, 5, 4}, {5, 3, 2});
  expect_pixels("global.texture-nhwc", {3, 5, 4}, {1, 5, 3});
  expect_pixels("global.texture-weight", {2, 3, 5, 7, 4}, {105, 2, 1});
  expect_pixels("global.texture-weight", {3, 5, 4}, {5, 3, 1});
}

TEST(ATexture, HasTheBytesOfItsTensor) {
  const std::vector<int64_t> dims = {3, 5, 7, 4};
  EXPECT_EQ(image_shape("global.texture", dims, kFloat32).bytes(), 3u * 5 * 7 * 4 * 4);
  EXPECT_EQ(image_shape("global.texture", dims, kFloat16).bytes(), 3u * 5 * 7 * 4 * 2);
  EXPECT_EQ(image_shape("global.texture", dims, kFloat16).row_bytes(), 7u * 4 * 2);
  EXPECT_EQ(ImageShape{}.bytes(), 0u);
}

TEST(ATexture, IsRefusedWithTheReasonAndTheTensor) {
  EXPECT_EQ(refusal_of("global.texture", {5, 4}),
            "memory scope \"global.texture\" takes tensors of at least 3 dimensions, but the tensor is float32[5, 4]");
  EXPECT_EQ(
      refusal_of("global.texture-weight", {2, 5, 3}),
      "memory scope \"global.texture-weight\" takes tensors whose last dimension is 4, the channels of a pixel, but "
      "the tensor is float32[2, 5, 3]");
  const std::string elements = "a tensor in memory scope \"global.texture\" must have elements, and not too many";
  EXPECT_EQ(refusal_of("global.texture", {2, 0, 4}), elements + ", but is float32[2, 0, 4]");
  EXPECT_EQ(refusal_of("global.texture", {-2, -3, 4}), elements + ", but is float32[-2, -3, 4]");
  const int64_t many = int64_t{1} << 31;
  EXPECT_EQ(refusal_of("global.texture", {many, many, 4}).find(elements), 0u);
}

}  // namespace
}  // namespace opd
