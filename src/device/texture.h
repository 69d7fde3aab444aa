// Tensors in images: TVM's memory scopes "global.texture", "global.texture-nhwc" and "global.texture-weight". A pixel
// of an image has four channels (RGBA), the tensor's last dimension. The other dimensions become columns, rows and
// layers. Source: Apache TVM, runtime/texture.h of its OpenCL runtime.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "value/dtype.h"

namespace opd {

struct ImageShape {
  int64_t width = 0, height = 0, layers = 0;  // in pixels; width 0: no image
  DLDataType dtype{};                         // dtype of a channel

  explicit operator bool() const { return width != 0; }
  uint64_t pixel_bytes() const { return uint64_t{4} * dtype.bits / 8; }
  uint64_t row_bytes() const { return static_cast<uint64_t>(width) * pixel_bytes(); }
  uint64_t bytes() const { return row_bytes() * static_cast<uint64_t>(height * layers); }  // size as a tensor
  bool operator==(const ImageShape &other) const {
    return width == other.width && height == other.height && layers == other.layers && same(dtype, other.dtype);
  }
};

inline constexpr std::string_view kTextureScopes =
    "\"global.texture\", \"global.texture-nhwc\", \"global.texture-weight\"";
bool is_texture_scope(std::string_view scope);
// The shape of the image for such a tensor in a texture scope. Throws OPD_INVALID_ARGUMENT if there is none.
ImageShape image_shape(std::string_view scope, std::span<const int64_t> dims, DLDataType dtype);

}  // namespace opd
