/** @file tensor.hpp  Tensors, and the devices, memory and threads behind them. */
#ifndef OPDYNO_TENSOR_HPP_
#define OPDYNO_TENSOR_HPP_

#include <opdyno/device_plugin.h>
#include <opdyno/tensor.h>

#include <opdyno/value.hpp>

namespace opdyno {

/** Reads a device: "cpu", "cuda:1" … */
inline DLDevice device_of(const std::string &text) {
  DLDevice device{};
  check(opd_device_from_string(text.c_str(), &device));
  return device;
}
/** Returns a property; none if the device does not report it. */
inline Value device_attr(DLDevice device, opd_device_attr attr) {
  Value value;
  check(opd_device_get_attr(device, attr, value.out()));
  return value;
}
inline void sync(DLDevice device) { check(opd_device_sync(device)); }

/** A stream of a device. The object frees it. */
class Stream {
 public:
  explicit Stream(DLDevice device) : device_(device) { check(opd_stream_create(device, &stream_)); }
  ~Stream() { opd_error_release(opd_stream_free(device_, stream_)); }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  void *get() const { return stream_; }
  void sync() const { check(opd_stream_sync(device_, stream_)); }

 private:
  DLDevice device_;
  void *stream_ = nullptr;
};
/** Sets the calling thread's current stream; NULL: the default one. Returns the previous one. */
inline void *set_stream(DLDevice device, void *stream) {
  void *before = nullptr;
  check(opd_stream_set(device, stream, &before));
  return before;
}
/** Adds a kind of devices, and returns its number. */
inline DLDeviceType register_device(const std::string &kind, const opd_device_table &table) {
  int32_t type = 0;
  check(opd_device_register(kind.c_str(), &table, &type));
  return static_cast<DLDeviceType>(type);
}

inline opd_memory_stats memory_stats(DLDevice device) {
  auto stats = sized<opd_memory_stats>();
  check(opd_memory_get_stats(device, &stats));
  return stats;
}
inline void reset_memory_peak(DLDevice device) { check(opd_memory_reset_peak(device)); }
inline void trim_memory(DLDevice device) { check(opd_memory_trim(device)); }
/** Sets the allocator of CPU memory. NULL restores the system's allocator. */
inline void set_memory_hooks(const opd_memory_hooks *hooks) { check(opd_memory_set_hooks(hooks)); }

/** Number of threads that a parallel kernel may use. */
inline int32_t threads_count() { return opd_threads_count(); }
inline void set_threads_count(int32_t count) { check(opd_threads_set_count(count)); }

class Tensor : public Handle<opd_tensor> {
 public:
  using Handle::Handle;
  Tensor() = default;
  /** Makes a tensor with its own uninitialised memory. */
  Tensor(const std::vector<int64_t> &dims, DLDataType dtype, DLDevice device = {kDLCPU, 0}) {
    check(opd_tensor_create(dims.data(), count_of(dims.size()), dtype, device, out()));
  }
  Tensor(const std::vector<int64_t> &dims, const char *dtype, DLDevice device = {kDLCPU, 0})
      : Tensor(dims, dtype_of(dtype), device) {}
  /** Returns the tensor that a value holds. */
  static Tensor of(const opd_value &value) { return Tensor(object_in<opd_tensor>(value, OPD_TENSOR)); }
  static Tensor of(const Value &value) { return of(value.view()); }
  /** Takes ownership of @p managed, unless it throws. */
  static Tensor from_dlpack(DLManagedTensor *managed) { return made<Tensor>(opd_tensor_from_dlpack, managed); }
  static Tensor from_dlpack(DLManagedTensorVersioned *managed) {
    return made<Tensor>(opd_tensor_from_dlpack_versioned, managed);
  }
  /** Exports the tensor. The consumer calls the result's deleter. */
  DLManagedTensor *to_dlpack() const {
    DLManagedTensor *managed = nullptr;
    check(opd_tensor_to_dlpack(get(), &managed));
    return managed;
  }
  DLManagedTensorVersioned *to_dlpack_versioned() const {
    DLManagedTensorVersioned *managed = nullptr;
    check(opd_tensor_to_dlpack_versioned(get(), &managed));
    return managed;
  }

  /** Makes a tensor of memory that its owner lends until end_borrow(). */
  static Tensor borrow(const DLTensor &from) { return made<Tensor>(opd_tensor_borrow, &from); }
  void end_borrow() const { opd_tensor_end_borrow(get()); }
  bool is_borrowed() const { return opd_tensor_is_borrowed(get()) != 0; }
  bool has_ended() const { return opd_tensor_has_ended(get()) != 0; }
  /** Whether nothing else refers to the tensor or, as far as opdyno knows, to its memory. */
  bool is_unique() const { return opd_tensor_is_unique(get()) != 0; }

  const DLTensor &view() const { return *opd_tensor_view(get()); }
  template <class T>
  T *data() const {
    return reinterpret_cast<T *>(static_cast<char *>(view().data) + view().byte_offset);
  }
  /** Returns the number of elements. */
  int64_t size() const {
    int64_t count = 1;
    for (int32_t i = 0; i < view().ndim; ++i) count *= view().shape[i];
    return count;
  }
  std::vector<int64_t> shape() const { return {view().shape, view().shape + view().ndim}; }
  DLDataType dtype() const { return view().dtype; }
  uint64_t bytes() const { return opd_tensor_bytes(get()); }
  bool is_contiguous() const { return opd_tensor_is_contiguous(get()) != 0; }
  bool is_read_only() const { return opd_tensor_is_read_only(get()) != 0; }

  void copy_from(const DLTensor &from) const { check(opd_tensor_copy(&from, get())); }
  void copy_from(const Tensor &from) const { copy_from(from.view()); }
  void copy_from_bytes(const void *data, size_t size) const { check(opd_tensor_copy_from_bytes(get(), data, size)); }
  void copy_to_bytes(void *data, size_t size) const { check(opd_tensor_copy_to_bytes(get(), data, size)); }
  /** Returns a tensor with the same elements and another shape. */
  Tensor reshape(const std::vector<int64_t> &dims) const {
    return made<Tensor>(opd_tensor_reshape, get(), dims.data(), count_of(dims.size()));
  }
};

}  // namespace opdyno
#endif
