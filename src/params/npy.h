// NumPy's .npy format, versions 1 to 3: one array behind a header that is a Python dict.
#pragma once
#include "base/bytes.h"
#include "value/tensor.h"

namespace opd {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// A copy, row-major whatever the file's order. Throws OPD_BAD_FORMAT with the offset; OPD_UNSUPPORTED for big-endian
// and for element types that DLPack has not.
Ref<Tensor> read_npy(Bytes bytes, const char *what);

// `tensor` must lie compactly on the CPU. bfloat16 and the 8-bit floats, which NumPy lacks, are written as the unsigned
// integers of their bits; vectors and elements of less than a byte are OPD_UNSUPPORTED.
std::string write_npy(const DLTensor &tensor);
std::string npy_header(const DLTensor &tensor);  // what precedes the elements

}  // namespace opd
