#include "value/tensor.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>

namespace opd {

static_assert(offsetof(Tensor, dl) == 24);

namespace {

void fill_compact_strides(const int64_t *dims, int32_t ndim, int64_t *strides) {
  uint64_t stride = 1;  // unsigned: next to a size of 0 the product may wrap, and is then never used
  for (int32_t i = ndim; i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(dims[i]);
  }
}

template <class Managed>
struct ManagedOwner final : Object {
  static int32_t type() { return OPD_OBJECT; }
  Managed *managed = nullptr;
  ~ManagedOwner() {
    if (managed && managed->deleter) managed->deleter(managed);
  }
};

// Returns the required alignment of a scalar: its size if that is a power of two. Vectors of several lanes are read
// lane by lane.
uint64_t alignment_of(DLDataType dtype) {
  constexpr uint64_t kMost = 8;
  const uint64_t bytes = dtype.bits / 8u;
  return std::has_single_bit(bytes) ? std::min(bytes, kMost) : 1;
}

// Refuses tensors of OpenCL and Vulkan. In DLPack, their `data` is a buffer handle of one driver context, which other
// libraries cannot use. The library's own tensors have an address there, which only this library understands.
void refuse_handles(const DLTensor &tensor, const char *what) {
  if (tensor.device.device_type == kDLOpenCL || tensor.device.device_type == kDLVulkan)
    fail_as("BufferError", OPD_UNSUPPORTED, "the tensor ", describe(tensor), " cannot be ", what,
            " by DLPack: copy it to the host");
}

void check_foreign(const DLTensor &from) {
  uint64_t count = 0, bytes = 0;
  require(from.dtype.lanes != 0, "a DLPack tensor must have a dtype of at least one lane, but lanes is 0");
  require(has_shape(from), "a DLPack tensor must have a shape");
  require(element_count(from.shape, from.ndim, count) && data_bytes(count, from.dtype, bytes),
          "a DLPack tensor has a negative or too large size");
  require(from.data || count == 0, "a DLPack tensor of ", count, " elements must have data");
  const uint64_t alignment = alignment_of(from.dtype), address = reinterpret_cast<uintptr_t>(data_of(from));
  require(count == 0 || address % alignment == 0, "the elements of a DLPack tensor, ", describe(from),
          ", must be aligned to ", alignment, " bytes, but start ", address % alignment, " bytes after a multiple of ",
          alignment, " (byte_offset is ", from.byte_offset, "); copy the tensor");
}

void copy_layout(const DLTensor &from, DLTensor &to) {
  to.byte_offset = from.byte_offset;
  if (from.strides) std::copy_n(from.strides, from.ndim, to.strides);
}

template <class Managed>
Ref<Tensor> adopt(Managed *managed, bool read_only) {
  const DLTensor &from = managed->dl_tensor;
  check_foreign(from);
  refuse_handles(from, "imported");
  auto owner = make_object<ManagedOwner<Managed>>();
  auto tensor = Tensor::make(dims_of(from), from.dtype, from.device, from.data, owner, read_only);
  copy_layout(from, tensor->dl);
  owner->managed = managed;  // ownership is taken last, because nothing below can fail
  return tensor;
}

template <class Managed>
Managed *lend(Ref<Tensor> tensor) {
  refuse_handles(tensor->dl, "exported");
  auto managed = std::make_unique<Managed>();
  managed->dl_tensor = tensor->dl;
  managed->deleter = [](Managed *self) {
    release_nested(static_cast<Object *>(self->manager_ctx));  // repeated exports and imports nest owners
    delete self;
  };
  managed->manager_ctx = tensor.detach();
  return managed.release();
}

template <class T>
Ref<Tensor> make_as(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, void *data, Ref<Object> owner) {
  Ref<Tensor> tensor = make_object_sized<T>(2 * dims.size() * sizeof(int64_t));
  auto *shape = reinterpret_cast<int64_t *>(tensor.get() + 1);
  auto *strides = shape + dims.size();
  std::ranges::copy(dims, shape);
  fill_compact_strides(shape, static_cast<int32_t>(dims.size()), strides);
  tensor->dl = {data, device, static_cast<int32_t>(dims.size()), dtype, shape, strides, 0};
  tensor->owner = owner.detach();
  return tensor;
}

struct BorrowedTensor final : Tensor {};

// The owner of borrowed memory, with a list of its tensors. The list only grows and has no lock. So a forked child can
// use it whatever other threads did during the fork.
struct Loan final : Object {
  static int32_t type() { return OPD_OBJECT; }

  struct Entry {
    WeakRef<Tensor> tensor;
    Entry *next;
  };
  std::atomic<Entry *> last{nullptr};
  std::atomic<bool> has_ended{false};

  ~Loan() {
    for (Entry *entry = last; entry;) delete std::exchange(entry, entry->next);
  }
  void add(Tensor *tensor) {
    auto *entry = new Entry{WeakRef<Tensor>(tensor), last};
    while (!last.compare_exchange_weak(entry->next, entry)) {}
  }
};

// Makes the tensor empty. The shape is static, so the tensor needs no room for it.
void empty(Tensor &tensor) noexcept {
  static int64_t nothing = 0, stride = 1;
  tensor.dl.ndim = 1;
  tensor.dl.shape = &nothing;
  tensor.dl.strides = &stride;
  tensor.dl.byte_offset = 0;
  tensor.dl.data = nullptr;
}

bool is_of_loan(const Tensor &tensor) { return tensor.deleter == &delete_object<BorrowedTensor>; }
Loan &loan_of(const Tensor &tensor) { return *static_cast<Loan *>(tensor.owner); }

Ref<Tensor> make_borrowed(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, void *data,
                          Ref<Loan> loan) {
  auto tensor = make_as<BorrowedTensor>(dims, dtype, device, data, loan);
  loan->add(tensor.get());
  if (loan->has_ended) empty(*tensor);
  return tensor;
}

}  // namespace

Ref<Tensor> Tensor::make(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, void *data,
                         Ref<Object> owner, bool read_only) {
  if (read_only) return make_as<ReadOnlyTensor>(dims, dtype, device, data, std::move(owner));
  return make_as<Tensor>(dims, dtype, device, data, std::move(owner));
}

Ref<Tensor> Tensor::make_view(Ref<Tensor> source, std::span<const int64_t> dims, DLDataType dtype, DLDevice device,
                              void *data) {
  if (is_of_loan(*source)) return make_borrowed(dims, dtype, device, data, Ref<Loan>::share(&loan_of(*source)));
  const bool read_only = is_read_only(*source);
  // A view of a view keeps only the owner of the memory alive. A view of another library's tensor keeps that tensor,
  // because its memory may depend on more than `owner`.
  const bool is_own = read_only || source->deleter == &delete_object<Tensor>;
  Ref<Object> owner = is_own && source->owner ? Ref<Object>::share(source->owner) : Ref<Object>(std::move(source));
  return make(dims, dtype, device, data, std::move(owner), read_only);
}

LatePart describe(const DLTensor &tensor) {
  const auto append_tensor = [](std::string &out, const void *what) {
    const DLTensor &t = *static_cast<const DLTensor *>(what);
    out += concat(type_text(t.dtype, dims_of(t)), " on ", device_name(t.device));
  };
  return {append_tensor, &tensor};
}

bool is_contiguous(const DLTensor &tensor) {
  if (!tensor.strides || std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim)
    return true;
  uint64_t expected = 1;
  for (int32_t i = tensor.ndim; i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != static_cast<int64_t>(expected)) return false;
    expected *= static_cast<uint64_t>(tensor.shape[i]);
  }
  return true;
}

uint64_t bytes_of(const DLTensor &tensor) {
  uint64_t bytes = 0;
  require(compact_bytes(dims_of(tensor), tensor.dtype, bytes), "the size of ", describe(tensor),
          " cannot be expressed in 64 bits");
  return bytes;
}

DLTensor *checked_view(DLTensor *view) {
  require(!view || has_shape(*view), "a DLTensor must have a shape, but has ndim ", view ? view->ndim : 0,
          " and the shape pointer ", view && view->shape ? "is set" : "is NULL");
  return view;
}

DLTensor &as_dltensor(const View &v, std::string_view what) {
  if (DLTensor *tensor = try_dltensor(v)) [[likely]]
    return *tensor;
  fail_type(what, "a tensor", v);
}

void require_writable(const Tensor &tensor, std::string_view what) {
  require(!is_read_only(tensor), what, " is written, but ", describe(tensor.dl), " is read-only; pass a copy");
}

DLTensor &writable_dltensor(const View &v, std::string_view what) {
  DLTensor &tensor = as_dltensor(v, what);
  if (v.type == OPD_TENSOR) require_writable(*static_cast<Tensor *>(object_of(v)), what);
  return tensor;
}

Ref<Tensor> from_dlpack(DLManagedTensor *managed) { return adopt(managed, false); }

Ref<Tensor> from_dlpack(DLManagedTensorVersioned *managed) {
  if (managed->version.major != DLPACK_MAJOR_VERSION)
    fail(OPD_UNSUPPORTED, "a DLPack tensor of version ", managed->version.major, ".", managed->version.minor,
         " was given; this build reads version ", DLPACK_MAJOR_VERSION);
  require(!(managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED),
          "sub-byte elements padded to bytes cannot be taken over");
  return adopt(managed, managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
}

DLManagedTensor *to_dlpack(Ref<Tensor> tensor) {
  if (is_read_only(*tensor))
    fail_as(
        "BufferError", OPD_UNSUPPORTED, "the read-only tensor ", describe(tensor->dl),
        " cannot be exported by the unversioned DLPack struct, which has no flag for that; export the versioned one");
  return lend<DLManagedTensor>(std::move(tensor));
}

DLManagedTensorVersioned *to_dlpack_versioned(Ref<Tensor> tensor) {
  const uint64_t flags = is_read_only(*tensor) ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  auto *managed = lend<DLManagedTensorVersioned>(std::move(tensor));
  managed->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->flags = flags;
  return managed;
}

Ref<Tensor> borrow(const DLTensor &from) {
  check_foreign(from);
  auto tensor = make_borrowed(dims_of(from), from.dtype, from.device, from.data, make_object<Loan>());
  copy_layout(from, tensor->dl);
  return tensor;
}

void end_borrow(Tensor &tensor) noexcept {
  if (!is_of_loan(tensor)) return;
  Loan &loan = loan_of(tensor);
  loan.has_ended = true;
  for (Loan::Entry *entry = loan.last; entry; entry = entry->next)
    if (const Ref<Tensor> found = entry->tensor.lock()) empty(*found);
}

bool is_borrowed(const Tensor &tensor) { return is_of_loan(tensor); }
bool has_ended(const Tensor &tensor) { return is_of_loan(tensor) && loan_of(tensor).has_ended; }

Ref<Tensor> reshape(Ref<Tensor> tensor, std::span<const int64_t> dims) {
  require(!has_ended(*tensor), "the memory of the tensor was lent for a call that has ended; copy what is to be kept");
  const uint64_t before = count_of(tensor->dl);
  uint64_t after = 0;
  const bool is_shape = element_count(dims.data(), static_cast<int64_t>(dims.size()), after);
  const bool is_same = is_shape && before == after;
  if (!is_same || !is_contiguous(tensor->dl)) [[unlikely]] {
    const std::string what = concat("cannot reshape ", describe(tensor->dl), " to ", dims_text(dims));
    require(is_shape, what, ": the shape has a negative size, or too many elements");
    require(is_same, what, ": the tensor has ", before, " elements, but the shape has ", after);
    fail(OPD_INVALID_ARGUMENT, what, ": the tensor is strided");
  }
  auto view = Tensor::make_view(tensor, dims, tensor->dl.dtype, tensor->dl.device, tensor->dl.data);
  view->dl.byte_offset = tensor->dl.byte_offset;
  return view;
}

}  // namespace opd
