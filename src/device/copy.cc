// Copies between tensors of any strides: cuts both sides into the longest runs that are compact on both.
#include <algorithm>
#include <cstring>
#include <vector>

#include "device/device.h"
#include "device/graph.h"

namespace opd {
namespace {

bool is_host(DLDevice device) {  // memory that the processor can access
  return device.device_type == kDLCPU || device.device_type == kDLCUDAHost || device.device_type == kDLROCMHost;
}

// Moves compact bytes from one device to another.
struct Transfer {
  DLDevice from, to;
  DeviceBackend *backend = nullptr;  // null if both places are on the host
  bool staged = false;               // true between kinds that cannot reach each other: the copy goes through the host

  Transfer(DLDevice f, DLDevice t) : from(f), to(t) {
    if (is_host(from) && is_host(to)) return;
    backend = &device_backend(is_host(from) ? to : from);
    staged = !is_host(from) && !is_host(to) && from.device_type != to.device_type;
  }
  void operator()(const char *source, char *target, size_t bytes) const {
    if (!backend) {
      std::memmove(target, source, bytes);
    } else if (!staged) {
      copy(*backend, source, from, target, to, bytes);
    } else {
      std::vector<char> stage(bytes);
      copy(*backend, source, from, stage.data(), kHost, bytes);
      copy(device_backend(to), stage.data(), kHost, target, to, bytes);
    }
  }
  static void copy(DeviceBackend &backend, const char *source, DLDevice from, char *target, DLDevice to, size_t bytes) {
    const DLDevice device = is_host(from) ? to : from;
    void *const stream = current_stream(device);
    if (is_captured(device, stream)) {
      if (!same(from, to)) fail_in_capture(device, "copy to or from other memory");
      return backend.copy(source, from, target, to, bytes, stream);
    }
    if (!is_recording(Interest::kDeviceWork)) return backend.copy(source, from, target, to, bytes, stream);
    const WorkKind kind = is_host(from) ? WorkKind::kCopyToDevice
                          : is_host(to) ? WorkKind::kCopyToHost
                                        : WorkKind::kCopyOnDevice;
    record_work(device, stream, kind, copy_name(kind), bytes,
                [&] { return backend.copy_timed(source, from, target, to, bytes, stream); });
  }
  // Names of copies, as viewers of CUDA's traces expect them.
  static NameId copy_name(WorkKind kind) {
    static const NameId names[] = {kNoName, name_id("Memcpy HtoD"), name_id("Memcpy DtoH"), name_id("Memcpy DtoD")};
    return names[static_cast<size_t>(kind)];
  }
};

struct Dim {
  int64_t size, from_step, to_step;  // steps in bytes
};

int64_t step_bytes(int64_t stride, int64_t unit, const DLTensor &tensor) {
  int64_t step;
  require(!__builtin_mul_overflow(stride, unit, &step), "a stride of ", describe(tensor),
          " cannot be expressed in bytes");
  return step;
}

std::vector<Dim> dims_in_bytes(const DLTensor &from, const DLTensor &to, int64_t unit) {
  std::vector<Dim> dims;
  int64_t from_compact = 1, to_compact = 1;
  for (int32_t i = from.ndim; i-- > 0;) {
    const int64_t size = from.shape[i];
    const int64_t from_stride = from.strides ? from.strides[i] : from_compact;
    const int64_t to_stride = to.strides ? to.strides[i] : to_compact;
    from_compact *= size, to_compact *= size;
    if (size == 1) continue;
    require(to_stride != 0, "cannot copy to ", describe(to), ": its stride of dimension ", i,
            " is 0, so elements share a place");
    dims.push_back({size, step_bytes(from_stride, unit, from), step_bytes(to_stride, unit, to)});
  }
  return dims;
}

// Sorts dimensions by their step in the target, outermost first. Joins those that are contiguous on both sides.
std::vector<Dim> simplify(std::vector<Dim> dims) {
  const auto distance = [](const Dim &d) {
    return d.to_step < 0 ? 0 - static_cast<uint64_t>(d.to_step) : static_cast<uint64_t>(d.to_step);
  };
  std::stable_sort(dims.begin(), dims.end(), [&](const Dim &a, const Dim &b) { return distance(a) > distance(b); });
  std::vector<Dim> joined;
  for (const Dim &inner : dims) {
    int64_t from_span, to_span;
    if (!joined.empty() && !__builtin_mul_overflow(inner.from_step, inner.size, &from_span) &&
        !__builtin_mul_overflow(inner.to_step, inner.size, &to_span) && joined.back().from_step == from_span &&
        joined.back().to_step == to_span) {
      joined.back() = {joined.back().size * inner.size, inner.from_step, inner.to_step};
    } else {
      joined.push_back(inner);
    }
  }
  return joined;
}

template <size_t kUnit>
void copy_units(const char *from, char *to, const Dim &dim) {
  for (int64_t i = 0; i < dim.size; ++i, from += dim.from_step, to += dim.to_step) std::memcpy(to, from, kUnit);
}

// The innermost loop. On a device every run is a separate copy. This is correct, but slow for scattered elements.
void copy_line(const Transfer &transfer, const char *from, char *to, const Dim &dim, size_t unit) {
  if (!transfer.backend) {
    switch (unit) {
      case 1:
        return copy_units<1>(from, to, dim);
      case 2:
        return copy_units<2>(from, to, dim);
      case 4:
        return copy_units<4>(from, to, dim);
      case 8:
        return copy_units<8>(from, to, dim);
      case 16:
        return copy_units<16>(from, to, dim);
      default:
        break;
    }
  }
  for (int64_t i = 0; i < dim.size; ++i) transfer(from + i * dim.from_step, to + i * dim.to_step, unit);
}

// Depth is at most 63: each remaining dimension has two elements or more, and their product is an int64.
void copy_dims(const Transfer &transfer, const char *from, char *to, std::span<const Dim> dims, size_t unit) {
  if (dims.empty()) return transfer(from, to, unit);
  if (dims.size() == 1) return copy_line(transfer, from, to, dims[0], unit);
  for (int64_t i = 0; i < dims[0].size; ++i)
    copy_dims(transfer, from + i * dims[0].from_step, to + i * dims[0].to_step, dims.subspan(1), unit);
}

void copy_strided(const Transfer &transfer, const DLTensor &from, const DLTensor &to) {
  const uint64_t bits = element_bits(from.dtype);
  if (bits % 8 != 0)
    fail(OPD_UNSUPPORTED, "cannot copy ", describe(from), " to ", describe(to), ": elements of ", bits,
         " bits can only be copied between contiguous tensors");
  auto dims = simplify(dims_in_bytes(from, to, static_cast<int64_t>(bits / 8)));
  size_t unit = bits / 8;
  if (!dims.empty() && dims.back().from_step == static_cast<int64_t>(unit) &&
      dims.back().to_step == static_cast<int64_t>(unit)) {
    unit *= static_cast<size_t>(dims.back().size);
    dims.pop_back();
  }
  copy_dims(transfer, data_of(from), data_of(to), dims, unit);
}

void check_dltensor(const DLTensor &tensor, const char *what) {
  require(has_shape(tensor), what, " must have a shape");
  uint64_t count;
  require(element_count(tensor.shape, tensor.ndim, count), "the shape of ", describe(tensor),
          " has a negative or too large size");
  require(count == 0 || tensor.data, what, " must have data, for it has ", count, " elements");
}

uint64_t contiguous_bytes(const DLTensor &tensor, size_t size, const char *action) {
  require(is_contiguous(tensor), "cannot copy bytes ", action, " ", describe(tensor), ": it is strided");
  const uint64_t bytes = bytes_of(tensor);
  require(bytes == size, "cannot copy ", size, " bytes ", action, " ", describe(tensor), ", which has ", bytes);
  return bytes;
}

}  // namespace

void check_copy(const DLTensor &from, const DLTensor &to) {
  check_dltensor(from, "the tensor to copy from");
  check_dltensor(to, "the tensor to copy to");
  const auto from_dims = dims_of(from), to_dims = dims_of(to);
  require(std::equal(from_dims.begin(), from_dims.end(), to_dims.begin(), to_dims.end()), "cannot copy ",
          describe(from), " to ", describe(to), ": the shapes differ");
  require(same(from.dtype, to.dtype), "cannot copy ", describe(from), " to ", describe(to), ": the dtypes differ");
  for (const DLTensor *tensor : {&from, &to})
    require(tensor->device.device_id >= 0, "cannot copy ", describe(from), " to ", describe(to),
            ": a device's number is at least 0");
}

void copy_tensor(const DLTensor &from, const DLTensor &to) {
  check_copy(from, to);
  const Transfer transfer(from.device, to.device);
  const uint64_t bytes = bytes_of(from);
  if (bytes == 0) return;
  if (is_contiguous(from) && is_contiguous(to)) return transfer(data_of(from), data_of(to), bytes);
  copy_strided(transfer, from, to);
}

Ref<Tensor> copied_to(DLDevice device, const DLTensor &from, MemoryUse use, std::string_view scope) {
  auto copy = make_tensor(dims_of(from), from.dtype, device, use, scope);
  copy_tensor(from, copy->dl);
  return copy;
}

void copy_from_bytes(const DLTensor &to, const void *data, size_t size) {
  if (contiguous_bytes(to, size, "to") == 0) return;
  require(data, "data must not be NULL");
  Transfer(kHost, to.device)(static_cast<const char *>(data), data_of(to), size);
}

void copy_to_bytes(const DLTensor &from, void *data, size_t size) {
  if (contiguous_bytes(from, size, "from") == 0) return;
  require(data, "data must not be NULL");
  Transfer(from.device, kHost)(data_of(from), static_cast<char *>(data), size);
}

}  // namespace opd
