#include "vm/pool.h"

#include "device/device.h"
#include "device/machine.h"
#include "device/memory/device_memory.h"

namespace opd {
namespace {

std::atomic<uint64_t> next_pool_id{1};  // never reused: an object may outlive its pool and must not match a later one

// The storage keeps its budget alive, because it may outlive the VM: a result is freed when the caller drops it.
void free_storage(VmStorage *storage) {
  storage->allocator->deallocate(storage->data, storage->bytes());
  storage->budget->refund(storage->bytes());
  release(storage->budget);
  delete storage;
}

void destroy_storage(void *self, int flags) {
  auto *storage = static_cast<VmStorage *>(static_cast<Object *>(self));
  if (!(flags & kFree)) return;  // a weak reference is left, so the pool must not reuse the header yet
  // A pool has no lock. So only its own thread may add to its lists, and only while its run is the thread's current
  // one.
  RunPool *pool = RunPool::current();
  if (pool && pool->id() == storage->home && pool->keep(storage)) return;
  free_storage(storage);
}

// `delete` would be wrong: the shape and strides follow the tensor, so new_tensor() used operator new.
void free_tensor(VmTensor *tensor) {
  tensor->~VmTensor();
  ::operator delete(tensor);
}

// `tensor` must have room for the dimensions.
void set_dims(DLTensor &tensor, std::span<const int64_t> dims) {
  uint64_t stride = 1;  // unsigned: strides next to a size 0 may wrap, and are then never used
  for (size_t i = dims.size(); i-- > 0; stride *= static_cast<uint64_t>(dims[i])) {
    tensor.shape[i] = dims[i];
    tensor.strides[i] = static_cast<int64_t>(stride);
  }
}

}  // namespace

std::unique_ptr<TensorTemplate> TensorTemplate::make(std::span<const int64_t> dims, DLDataType dtype, uint32_t id) {
  uint64_t bytes;
  if (!compact_bytes(dims, dtype, bytes)) return nullptr;
  return std::make_unique<TensorTemplate>(TensorTemplate{{dims.begin(), dims.end()}, dtype, bytes, id});
}

// Reading the limits of control groups takes 50 us, as long as loading a small program. So they are read only when they
// can matter: a VM whose storages stay below 64 MiB never reads them. If two threads read them at once, this does no
// harm.
uint64_t MemoryBudget::limit_for(uint64_t used, uint64_t bytes) {
  constexpr uint64_t kSurelyAllowed = 64 << 20;
  if (const uint64_t limit = limit_bytes.load(std::memory_order_relaxed)) [[likely]]
    return limit;
  if (bytes <= kSurelyAllowed && used <= kSurelyAllowed - bytes) return kSurelyAllowed;
  const uint64_t limit = usable_memory_bytes();
  limit_bytes.store(limit, std::memory_order_relaxed);
  return limit;
}

void MemoryBudget::charge(uint64_t bytes) {
  uint64_t used = used_bytes.load(std::memory_order_relaxed);
  // A compare-and-swap, so that concurrent calls together cannot exceed the limit. Relaxed: the counter publishes no
  // other data.
  do {
    const uint64_t limit = limit_for(used, bytes);
    if (bytes > limit || used > limit - bytes)
      fail(OPD_OUT_OF_MEMORY, "a storage of ", bytes, " bytes would exceed the VM's memory limit: ", used, " of ",
           limit, " bytes are in use");
  } while (!used_bytes.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

Ref<VmStorage> make_vm_storage(DLDevice device, opd_allocator_kind kind, uint64_t bytes, Ref<MemoryBudget> budget,
                               MemoryUse use, const ImageShape &image) {
  auto storage = std::make_unique<VmStorage>();
  storage->type_index = VmStorage::type();
  // The device's pool has lists by size only, so images do not go there. The run's size classes distinguish their
  // shapes.
  storage->allocator = &Allocator::of(device, image || budget->is_own_limit ? OPD_ALLOCATOR_NAIVE : kind);
  // The bytes are charged before the allocation, so that concurrent calls together cannot exceed the limit.
  budget->charge(bytes);
  try {
    storage->data =
        static_cast<char *>(image ? allocate_image(device, image, use) : storage->allocator->allocate(bytes, use));
  } catch (...) {
    budget->refund(bytes);
    throw;
  }
  // The deleter is set after the allocation, because it frees the memory. If the allocation throws, the unique_ptr
  // deletes the storage without this deleter.
  storage->Object::deleter = destroy_storage;
  storage->size = storage->capacity = image ? 0 : bytes;
  storage->image = image;
  storage->device = device;
  storage->budget = budget.detach();
  return Ref<VmStorage>::take(storage.release());
}

Ref<Tensor> make_lasting_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, MemoryUse use) {
  const RunPool *pool = RunPool::current();
  uint64_t bytes;
  if (!pool || !compact_bytes(dims, dtype, bytes))
    return make_tensor(dims, dtype, device, use);  // throws an error with the reason
  // Such tensors are caches of language models and their tables. They live long and their sizes are rarely equal, so a
  // free list would seldom reuse such a block.
  auto storage = make_vm_storage(device, OPD_ALLOCATOR_NAIVE, bytes, pool->budget_, use);
  void *const data = storage->data;
  return Tensor::make(dims, dtype, device, data, std::move(storage));
}

void fail_part_of_image(const VmStorage &storage, uint64_t offset, uint64_t bytes) {
  fail(OPD_INVALID_ARGUMENT, "a tensor of ", bytes, " bytes at offset ", offset, " does not fill the image of ",
       storage.bytes(), " bytes that its storage is");
}

bool is_unique(const Tensor &tensor) {
  // A view of a program's tensor keeps that tensor, which shares its storage with others.
  for (const Object *object = &tensor; object;) {
    if (!object->has_sole_owner()) return false;
    if (object->type_index != OPD_TENSOR) break;
    const auto &view = *static_cast<const Tensor *>(object);
    const bool is_own =
        view.deleter == &delete_object<Tensor> || is_read_only(view) || view.deleter == &VmTensor::destroy;
    if (!is_own) return false;  // only the members before `owner` exist
    object = view.owner;
  }
  return true;
}

// If a borrower has other references, drop() makes it a counted owner of its storage. So a tensor that ends elsewhere
// does not borrow, and does not touch the storage's count of borrowers, which is not atomic.
void VmTensor::destroy(void *self, int flags) {
  auto *tensor = static_cast<VmTensor *>(static_cast<Tensor *>(static_cast<Object *>(self)));
  RunPool *pool = RunPool::current();
  const bool at_home = pool && pool->id() == tensor->home;
  if (flags & kDestroy && tensor->owner) {
    auto *storage = static_cast<VmStorage *>(tensor->owner);
    tensor->owner = nullptr;
    if (!tensor->borrows) release(storage);
    else if (at_home) pool->end_borrow(storage);
    tensor->borrows = false;
  }
  if (flags & kFree) at_home ? pool->keep(tensor) : free_tensor(tensor);
}

RunPool::RunPool(std::span<const VmDevice> devices, Ref<MemoryBudget> budget, size_t num_templates,
                 const std::vector<StorageKind> &kinds)
    : id_(next_pool_id.fetch_add(1, std::memory_order_relaxed)),
      devices_(devices),
      budget_(std::move(budget)),
      tensors_(num_templates) {
  // In the program's order, so that the size classes in its instructions are valid in the pool.
  for (const StorageKind kind : kinds) add_size_class(kind);
}

VmStorage *RunPool::storage_for(StorageKind kind) {
  if (const auto found = class_of_.find(kind); found != class_of_.end()) return storage(found->second);
  if (kind.image) return storage(add_size_class(kind));
  try {
    VmStorage *const storage = this->storage(add_size_class({varying_size(kind.bytes), kind.device}));
    storage->size = kind.bytes;
    return storage;
  } catch (const Exception &e) {
    if (e.error()->code != OPD_OUT_OF_MEMORY) throw;
  }
  // There is no room for the larger block. This one belongs to no list.
  const VmDevice &device = device_of(kind.device);
  return make_vm_storage(device.device, device.allocator, kind.bytes, budget_).detach();
}

uint32_t RunPool::add_size_class(StorageKind kind) {
  const auto [place, fresh] = class_of_.try_emplace(kind, static_cast<uint32_t>(classes_.size()));
  if (fresh) classes_.push_back({kind});
  return place->second;
}

const VmDevice &RunPool::device_of(int64_t index) const {
  // A VM's last device is the host, see VmSettings. Programs keep shapes there, whatever devices they name.
  if (index == -1) return devices_.back();
  if (index < 0 || static_cast<uint64_t>(index) >= devices_.size())
    fail(OPD_OUT_OF_RANGE, "device index ", index, " of a VM with ", counted(devices_.size(), "device"));
  return devices_[static_cast<size_t>(index)];
}

int64_t RunPool::index_of(DLDevice device) const {
  for (size_t i = 0; i < devices_.size(); ++i)
    if (same(devices_[i].device, device)) return static_cast<int64_t>(i);
  fail(OPD_INVALID_ARGUMENT, "the VM has no device ", device_name(device));
}

VmStorage *RunPool::new_storage(uint32_t size_class) {
  const StorageKind kind = classes_[size_class].kind;
  const VmDevice &device = device_of(kind.device);
  const auto make = [&] {
    return make_vm_storage(device.device, device.allocator, kind.bytes, budget_, MemoryUse::kTensor, kind.image);
  };
  // The device's pool and the budget count the memory of idle frames and runs of the VM as in use, so neither can free
  // it. when_short() does.
  Ref<VmStorage> storage;
  try {
    storage = make();
  } catch (const Exception &e) {
    if (e.error()->code != OPD_OUT_OF_MEMORY || !when_short) throw;
    when_short();
    storage = make();
  }
  storage->home = id_;
  storage->size_class = size_class;
  count_use(kind.bytes);
  return storage.detach();
}

VmTensor *RunPool::new_tensor(std::span<const int64_t> dims, DLDataType dtype, uint32_t template_id) {
  // One allocation for the tensor, its shape and its strides, because a run's first call makes a tensor for nearly
  // every kernel.
  void *memory = ::operator new(sizeof(VmTensor) + 2 * dims.size_bytes());
  auto *tensor = new (memory) VmTensor;
  Object *header = tensor;
  header->type_index = OPD_TENSOR;
  header->deleter = &VmTensor::destroy;
  auto *shape = reinterpret_cast<int64_t *>(tensor + 1), *strides = shape + dims.size();
  tensor->dl = {nullptr, {}, static_cast<int32_t>(dims.size()), dtype, shape, strides, 0};
  set_dims(tensor->dl, dims);
  tensor->home = id_;
  tensor->template_id = template_id;
  return tensor;
}

// A kept tensor only has room for its own rank, so these lists are by rank.
VmTensor *RunPool::tensor(std::span<const int64_t> dims, DLDataType dtype, VmStorage *storage, uint64_t offset) {
  VmTensor *tensor = dims.size() < kRanks ? shapeless_[dims.size()] : nullptr;
  if (tensor) {
    shapeless_[dims.size()] = tensor->next;
    tensor->refs.store(Object::kSoleOwner, std::memory_order_relaxed);
    tensor->dl.dtype = dtype;
    set_dims(tensor->dl, dims);
  } else {
    tensor = new_tensor(dims, dtype, VmTensor::kNoTemplate);
  }
  bind(tensor, storage, offset);
  return tensor;
}

void RunPool::keep_shapeless(VmTensor *tensor) {
  tensor->owner = nullptr;
  tensor->borrows = false;
  const auto rank = static_cast<size_t>(tensor->dl.ndim);
  if (rank < kRanks) tensor->next = std::exchange(shapeless_[rank], tensor);
  else free_tensor(tensor);
}

// A kept storage stays charged to the budget, because the VM still has its memory. when_short frees it.
bool RunPool::keep(VmStorage *storage) {
  SizeClass &kept = classes_[storage->size_class];
  if (used_bytes_ > static_cast<int64_t>(kept_limit_)) kept_limit_ = static_cast<uint64_t>(used_bytes_);
  end_use(kept.kind.bytes);
  if (device_of(kept.kind.device).allocator != OPD_ALLOCATOR_POOLED) return false;
  storage->size = storage->capacity;
  storage->next = std::exchange(kept.head, storage);
  kept.last_return = ++num_returns_;
  kept_bytes_ += kept.kind.bytes;
  if (kept_bytes_ > kept_limit_) [[unlikely]]
    free_longest_kept();
  return true;
}

// Frees the storages of the sizes that were not returned for the longest time. An eighth of the limit becomes free, so
// that this search is rare.
void RunPool::free_longest_kept() {
  while (kept_bytes_ > kept_limit_ - kept_limit_ / 8) {
    SizeClass *oldest = nullptr;
    for (SizeClass &each : classes_)
      if (each.head && (!oldest || each.last_return < oldest->last_return)) oldest = &each;
    free_all(*oldest);
  }
}

void RunPool::free_all(SizeClass &kept) {
  while (kept.head) {
    kept_bytes_ -= kept.kind.bytes;
    free_storage(std::exchange(kept.head, kept.head->next));
  }
}

// Call it only while the run is idle, because the lists have no lock. See Vm::idle_bytes_here().
uint64_t RunPool::kept_bytes(DLDevice device) const {
  uint64_t sum = 0;
  for (const auto &size_class : classes_)
    for (const VmStorage *storage = size_class.head; storage; storage = storage->next)
      if (same(storage->device, device)) sum += storage->bytes();
  return sum;
}

// Objects in the lists have no references. They are freed without their deleters, which would put them back.
void RunPool::trim() {
  const auto free_list = [](VmTensor *&head) {
    while (head) free_tensor(std::exchange(head, head->next));
  };
  for (VmTensor *&head : tensors_) free_list(head);
  for (VmTensor *&head : shapeless_) free_list(head);
  for (SizeClass &each : classes_) free_all(each);
}

}  // namespace opd
