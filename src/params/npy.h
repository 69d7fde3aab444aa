// NumPy's .npy format, versions 1 to 3: one array behind a header that is a Python dict.
#pragma once
#include "base/byte_sink.h"
#include "params/stored_tensor.h"

namespace opd {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  DLDataType dtype{};
  std::vector<int64_t> dims;
  bool column_major = false;  // also false if both orders give the same bytes
  uint64_t size = 0;          // size of the header and offset of the elements
  uint64_t bytes = 0;         // size of the elements
};

// `front` must contain the whole header of a file of `file_size` bytes. Throws OPD_BAD_FORMAT with the offset. Throws
// OPD_UNSUPPORTED for big-endian files and for element types that DLPack lacks.
NpyHeader read_npy_header(Bytes front, uint64_t file_size, const char *what);
inline constexpr size_t kNpyPreamble = 12;  // npy_header_size() reads at most this many bytes
uint64_t npy_header_size(Bytes front, const char *what);
Ref<Tensor> from_column_major(std::span<const int64_t> dims, DLDataType dtype, const uint8_t *data);

// Reads the .npy file at `offset` of a source. The tensor is always row-major.
StoredTensor read_npy(Ref<ByteSource> source, uint64_t offset, uint64_t size, const char *what);

// `tensor` must be compact and on the CPU. NumPy lacks bfloat16 and the 8-bit floats, so they are written as unsigned
// integers with the same bits. Throws OPD_UNSUPPORTED for vector types and for elements smaller than a byte. The
// elements begin at a multiple of 64.
void write_npy(const DLTensor &tensor, ByteSink &out);
std::string npy_header(const DLTensor &tensor);  // the bytes before the elements

}  // namespace opd
