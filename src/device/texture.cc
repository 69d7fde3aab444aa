#include "device/texture.h"

#include "value/value.h"

namespace opd {
namespace {

// Index of the first dimension that becomes columns. Earlier dimensions become layers and rows.
size_t first_column(std::string_view scope, size_t rank) {
  if (scope == "global.texture-weight") return 1;
  return scope == "global.texture-nhwc" ? 2 : rank - 2;
}

}  // namespace

bool is_texture_scope(std::string_view scope) {
  return scope == "global.texture" || scope == "global.texture-nhwc" || scope == "global.texture-weight";
}

ImageShape image_shape(std::string_view scope, std::span<const int64_t> dims, DLDataType dtype) {
  const size_t rank = dims.size();
  uint64_t count = 0, bytes = 0;
  std::string shape = dtype_name(dtype);
  append_dims(shape, dims);
  require(rank >= 3, "memory scope \"", scope, "\" takes tensors of at least 3 dimensions, but the tensor is ", shape);
  require(dims[rank - 1] == 4, "memory scope \"", scope,
          "\" takes tensors whose last dimension is 4, the channels of a pixel, but the tensor is ", shape);
  require(element_count(dims.data(), static_cast<int64_t>(rank), count) && data_bytes(count, dtype, bytes) && count > 0,
          "a tensor in memory scope \"", scope, "\" must have elements, and not too many, but is ", shape);
  ImageShape image{1, 1, 1, dtype};
  const size_t columns = first_column(scope, rank);
  for (size_t i = 0; i + 1 < rank; ++i)
    (i >= columns ? image.width : i + 1 == columns ? image.height : image.layers) *= dims[i];
  return image;
}

}  // namespace opd
