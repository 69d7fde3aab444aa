#include "params/tensor_bytes.h"

#include "device/device.h"

namespace opd {
namespace {

constexpr uint64_t kTensorMagic = 0xDD5E40F096B4A13F;

// TVM states at least one byte per element, even if it stores fewer.
uint64_t stated_bytes(DLDataType dtype, uint64_t count) { return (uint64_t{dtype.bits} + 7) / 8 * count; }

// Reads a header and checks that the elements follow it. `stored`: their size in the file, at least `bytes`.
StoredTensor read_header(ByteReader &in, uint64_t &stored) {
  if (in.read<uint64_t>("tensor magic number") != kTensorMagic) in.bad("tensor", "does not follow its magic number");
  in.read<uint64_t>("tensor header");
  const auto device_type = in.read<int32_t>("tensor device");
  in.read<int32_t>("tensor device");
  if (device_type != kDLCPU)
    in.bad("tensor device", concat("has type ", device_type, "; files hold tensors of the CPU, 1"));
  const auto ndim = in.read<int32_t>("tensor rank");
  StoredTensor header;
  header.dtype = in.read<DLDataType>("tensor dtype");
  const DLDataType dtype = header.dtype;
  if (dtype.bits == 0 || static_cast<int16_t>(dtype.lanes) <= 0)  // a negative number marks scalable vectors
    in.bad("tensor dtype", concat("is ", dtype_name(dtype), ", which no tensor can have"));
  if (ndim < 0 || static_cast<uint64_t>(ndim) > in.remaining() / 8) in.bad("tensor rank", concat("is ", ndim));
  header.dims.resize(static_cast<size_t>(ndim));
  const Bytes shape = in.take(header.dims.size() * 8, "tensor shape");
  if (ndim) std::memcpy(header.dims.data(), shape.data(), shape.size());
  uint64_t count = 0;
  if (!element_count(header.dims.data(), ndim, count) || !data_bytes(count, dtype, header.bytes) ||
      count > UINT64_MAX / 64)
    in.bad("tensor shape", "has a negative or too large size");
  stored = in.read<uint64_t>("tensor size");
  if (stored < header.bytes || (stored != stated_bytes(dtype, count) && stored != header.bytes))
    in.bad("tensor size",
           concat("is ", stored, " bytes, but ", count, " elements of ", dtype_name(dtype), " take ", header.bytes));
  if (stored > in.remaining()) in.bad("tensor data", concat("needs ", stored, " bytes, ", in.remaining(), " remain"));
  return header;
}

}  // namespace

std::string tensor_header(const DLTensor &tensor) {
  require(tensor.device.device_type == kDLCPU && is_contiguous(tensor),
          "only contiguous tensors of the CPU can be written, not ", describe(tensor));
  ByteWriter out;
  out.write(kTensorMagic);
  out.write<uint64_t>(0);
  out.write<int32_t>(kDLCPU);
  out.write<int32_t>(0);
  out.write(tensor.ndim);
  out.write(tensor.dtype);
  out.write_bytes(tensor.shape, static_cast<size_t>(tensor.ndim) * 8);
  out.write(bytes_of(tensor));
  return out.take();
}

StoredTensor read_stored_tensor(ByteReader &in, const Ref<ByteSource> &source) {
  uint64_t stored = 0;
  StoredTensor tensor = read_header(in, stored);
  tensor.source = source, tensor.offset = in.offset();
  in.take(stored, "tensor data");
  return tensor;
}

Ref<Tensor> read_tensor(ByteReader &in) {
  uint64_t stored = 0;
  const StoredTensor header = read_header(in, stored);
  const Bytes data = in.take(stored, "tensor data");
  auto tensor = make_tensor(header.dims, header.dtype, kHost, MemoryUse::kParameter);
  if (header.bytes) std::memcpy(tensor->dl.data, data.data(), header.bytes);
  return tensor;
}

void write_tensor(ByteWriter &out, const DLTensor &tensor) {
  const std::string header = tensor_header(tensor);
  out.write_bytes(header.data(), header.size());
  out.write_bytes(data_of(tensor), bytes_of(tensor));
}

}  // namespace opd
