// NumPy's .npy format, versions 1 to 3: one array behind a header that is a Python dict.
#pragma once
#include "params/byte_sink.h"
#include "params/stored_tensor.h"

namespace opd {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  DLDataType dtype{};
  std::vector<int64_t> dims;
  bool column_major = false;  // and not the same in either order
  uint64_t size = 0;          // of what precedes the elements
  uint64_t bytes = 0;         // of the elements
};

// `front` must hold the whole header, of a file of `file_size` bytes. Throws OPD_BAD_FORMAT with the offset;
// OPD_UNSUPPORTED for big-endian and for element types that DLPack has not.
NpyHeader read_npy_header(Bytes front, uint64_t file_size, const char *what);
inline constexpr size_t kNpyPreamble = 12;  // how much `npy_header_size` needs at most
uint64_t npy_header_size(Bytes front, const char *what);
Ref<Tensor> from_column_major(std::span<const int64_t> dims, DLDataType dtype, const uint8_t *data);

// The file that lies within a source. Row-major whatever the file's order.
StoredTensor read_npy(Ref<ByteSource> source, uint64_t offset, uint64_t size, const char *what);

// `tensor` must lie compactly on the CPU. bfloat16 and the 8-bit floats, which NumPy lacks, are written as the unsigned
// integers of their bits; vectors and elements of less than a byte are OPD_UNSUPPORTED. The elements begin at a
// multiple of 64.
void write_npy(const DLTensor &tensor, ByteSink &out);
std::string npy_header(const DLTensor &tensor);  // what precedes the elements

}  // namespace opd
