// The memory pool of a run: free lists of tensors and storages.
//
// A program makes and drops a tensor for nearly every kernel, often of a few bytes. So this must cost less than the
// smallest kernel. Three things make it cheap: (1) Each run has a pool, which only the run's thread uses, so no lock is
// taken. (2) Dropped tensors and storages go to free lists by shape and by size, so only the first call uses malloc.
// (3) A tensor that stays inside the run *borrows* its storage: the storage counts its borrowers in a plain integer, so
// no atomic operation is needed. Before a tensor leaves the run, it becomes a counted owner of its storage, because
// another thread may then drop it. A tensor leaves if it is returned, put into a tuple, or kept by a foreign function.
//
// An object may end on another thread, or after its run. `home` is the number of the pool that made it. Only this pool
// may put it into a free list; elsewhere its memory is freed. Numbers are never reused, so a later pool cannot be
// mistaken for the object's pool.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/thread_state.h"
#include "device/memory/allocator.h"
#include "trace/record/memory_event.h"
#include "value/tensor.h"

namespace opd {

// The memory limit of all storages of one VM. Thread-safe. Lives until the VM and its last storage have ended.
struct MemoryBudget : Object {
  static int32_t type() { return OPD_OBJECT; }
  explicit MemoryBudget(uint64_t limit) : is_own_limit(limit > 0), limit_bytes(limit) {}  // 0: the limit of the process
  void charge(uint64_t bytes);                                                            // throws OPD_OUT_OF_MEMORY
  void refund(uint64_t bytes) { used_bytes.fetch_sub(bytes, std::memory_order_relaxed); }
  std::atomic<uint64_t> used_bytes{0};
  // The user set the limit. It holds for memory that is kept, too, so no block may go to the device's pool, which does
  // not count for the VM.
  const bool is_own_limit;

 private:
  uint64_t limit_for(uint64_t used, uint64_t bytes);
  std::atomic<uint64_t> limit_bytes;  // 0: not read yet
};

struct VmStorage final : Object {
  static int32_t type() { return registered_type<"opdyno.vm.Storage">(); }
  char *data = nullptr;
  // Bytes that the program may use. 0: an image, which has only one tensor; the fast paths for parts of a block then
  // fail.
  uint64_t size = 0;
  uint64_t capacity = 0;  // bytes of the block
  ImageShape image;
  DLDevice device{};
  Allocator *allocator = nullptr;
  MemoryBudget *budget = nullptr;  // one reference
  uint64_t home = 0;
  VmStorage *next = nullptr;  // the next one in a free list
  uint32_t size_class = 0;
  uint32_t borrowers = 0;  // tensors of the home run that use the storage without a reference
  // Its register dropped it while tensors borrowed it. The last borrower ends the register's reference.
  bool dropped = false;

  uint64_t bytes() const { return capacity + image.bytes(); }
};

struct VmDevice {
  DLDevice device;
  opd_allocator_kind allocator;
};

struct StorageKind {
  uint64_t bytes;
  int64_t device;      // index into the VM's devices; -1: the last one, the host
  ImageShape image{};  // none: a block
  bool operator==(const StorageKind &) const = default;
  struct Hash {
    size_t operator()(const StorageKind &kind) const {
      return static_cast<size_t>(kind.bytes ^ static_cast<uint64_t>(kind.device) << 48);
    }
  };
};

struct TensorTemplate {  // a shape that many tensors have
  std::vector<int64_t> dims;
  DLDataType dtype{};
  uint64_t bytes = 0;
  uint32_t id = 0;
  // Returns null if the size exceeds 64 bits.
  static std::unique_ptr<TensorTemplate> make(std::span<const int64_t> dims, DLDataType dtype, uint32_t id);
};

struct VmTensor final : Tensor {
  static constexpr uint32_t kNoTemplate = UINT32_MAX;
  uint64_t home = 0;
  VmTensor *next = nullptr;
  uint32_t template_id = kNoTemplate;
  bool borrows = false;  // `owner` is a VmStorage of the same run, whose reference count does not include this tensor
  static void destroy(void *self, int flags);
};

// Whether the tensor has no other reference, and its memory has none that this library can see. False if another
// library made the memory, because its references are not known.
bool is_unique(const Tensor &tensor);

class RunPool {
 public:
  RunPool(std::span<const VmDevice> devices, Ref<MemoryBudget> budget, size_t num_templates,
          const std::vector<StorageKind> &kinds);
  ~RunPool() { trim(); }
  RunPool(const RunPool &) = delete;
  RunPool &operator=(const RunPool &) = delete;

  static RunPool *current() { return static_cast<RunPool *>(thread_state().run_pool); }
  uint64_t id() const { return id_; }
  // The type of storages that alloc_tensor's fast path accepts. While bindings are recorded, it is kNoType: all calls
  // take the slow path, and the fast path needs no extra test.
  int32_t fast_storage_type() const { return fast_storage_type_; }
  // Whether each tensor made in a storage is recorded. Set for a whole run, see Run::record_bindings().
  bool records_bindings() const { return fast_storage_type_ != storage_type_; }
  void set_records_bindings(bool records) { fast_storage_type_ = records ? kNoType : storage_type_; }

  uint32_t add_template() {  // returns the index of a new template, which only this run has
    tensors_.push_back(nullptr);
    return static_cast<uint32_t>(tensors_.size()) - 1;
  }
  // A storage for a request that is no size class of the program, because its size was computed at run time. Its block
  // may be larger. The caller gets one reference.
  VmStorage *storage_for(StorageKind kind);
  const VmDevice &device_of(int64_t index) const;  // index as in StorageKind; throws OPD_OUT_OF_RANGE
  // Returns the index as in StorageKind. Throws OPD_INVALID_ARGUMENT if the VM lacks the device.
  int64_t index_of(DLDevice device) const;
  VmStorage *storage(uint32_t size_class) {  // the caller gets one reference
    SizeClass &kept = classes_[size_class];
    if (!kept.head) [[unlikely]]
      return new_storage(size_class);
    VmStorage *storage = kept.head;
    kept.head = storage->next;
    count_use(kept.kind.bytes);
    kept_bytes_ -= kept.kind.bytes;
    storage->refs.store(Object::kSoleOwner, std::memory_order_relaxed);
    return storage;
  }
  VmTensor *tensor(const TensorTemplate &shape, VmStorage *storage, uint64_t offset) {  // the caller gets one reference
    if (VmTensor *spare = spare_tensor(shape, storage, offset)) [[likely]]
      return spare;
    VmTensor *tensor = new_tensor(shape.dims, shape.dtype, shape.id);
    bind(tensor, storage, offset);
    return tensor;
  }
  // Takes a tensor from the free list only. Returns null if the list is empty.
  VmTensor *spare_tensor(const TensorTemplate &shape, VmStorage *storage, uint64_t offset) noexcept {
    VmTensor *&head = tensors_[shape.id];
    VmTensor *tensor = head;
    if (!tensor) return nullptr;
    head = tensor->next;
    tensor->refs.store(Object::kSoleOwner, std::memory_order_relaxed);
    bind(tensor, storage, offset);
    return tensor;
  }
  VmTensor *tensor(std::span<const int64_t> dims, DLDataType dtype, VmStorage *storage, uint64_t offset);

  // Ends a register's reference to an object. The common cases change no count. A tensor of this run without other
  // references goes to its free list. A storage that tensors still borrow is only marked, because these tensors end
  // before the run does.
  void drop(Object *object) {
    if (object->deleter == &VmTensor::destroy) {
      auto *tensor = static_cast<VmTensor *>(static_cast<Tensor *>(object));
      // Only `home` may be read of other runs' tensors, because it never changes.
      if (tensor->home == id_ && tensor->borrows) {
        if (tensor->has_sole_owner()) [[likely]] {
          end_borrow(static_cast<VmStorage *>(tensor->owner));
          return keep(tensor);
        }
        own_storage(tensor);
      }
    } else if (object->type_index == storage_type_) {
      auto *storage = static_cast<VmStorage *>(object);
      if (storage->borrowers && storage->home == id_) {
        storage->dropped = true;
        return;
      }
    }
    release(object);
  }

  // The most frequent case of drop(), without function calls: a tensor of a known shape without other references. If it
  // returns false, nothing was done.
  bool drop_to_free_list(Object *object) noexcept {
    if (object->deleter != &VmTensor::destroy) [[unlikely]]
      return false;
    auto *tensor = static_cast<VmTensor *>(static_cast<Tensor *>(object));
    if (tensor->home != id_ || !tensor->borrows || !tensor->has_sole_owner() ||
        tensor->template_id == VmTensor::kNoTemplate) [[unlikely]]
      return false;
    auto *storage = static_cast<VmStorage *>(tensor->owner);
    if (storage->borrowers == 1 && storage->dropped) [[unlikely]]
      return false;
    --storage->borrowers;
    keep(tensor);
    return true;
  }

  std::function<void()>
      when_short;  // called if an allocation fails: frees all unused memory, so that the allocation can be repeated

  // Keeps an unused tensor, which tensor() can return again.
  void keep(VmTensor *tensor) {
    if (tensor->template_id == VmTensor::kNoTemplate) [[unlikely]]
      return keep_shapeless(tensor);
    tensor->owner = nullptr;
    tensor->borrows = false;
    tensor->next = std::exchange(tensors_[tensor->template_id], tensor);
  }
  bool keep(VmStorage *storage);  // false: the device's allocator is not pooled
  void trim();
  // The bytes in use do not include static buffers, which frames keep, so making and dropping one is told here.
  void count_use(uint64_t bytes) { used_bytes_ += static_cast<int64_t>(bytes); }
  void end_use(uint64_t bytes) { used_bytes_ -= static_cast<int64_t>(bytes); }
  void end_call() { used_bytes_ = 0; }  // what is still in use left the run and ends elsewhere
  static constexpr uint64_t kKeptFloor = 1 << 20;
  uint64_t kept_bytes(DLDevice device) const;  // storages in free lists

 private:
  struct SizeClass {
    StorageKind kind;
    VmStorage *head = nullptr;
    uint64_t last_return = 0;  // number of the return that was the last to put a storage into the list
  };

  uint32_t add_size_class(StorageKind kind);
  void free_longest_kept();
  void free_all(SizeClass &kept);
  void keep_shapeless(VmTensor *tensor);
  VmStorage *new_storage(uint32_t size_class);
  VmTensor *new_tensor(std::span<const int64_t> dims, DLDataType dtype, uint32_t template_id);
  void bind(VmTensor *tensor, VmStorage *storage, uint64_t offset) {
    tensor->dl.data = storage->data + offset;
    tensor->dl.device = storage->device;
    tensor->owner = storage;
    tensor->borrows = storage->home == id_;
    if (tensor->borrows) ++storage->borrowers;
    else retain(storage);
  }
  void end_borrow(VmStorage *storage) {
    if (--storage->borrowers == 0 && storage->dropped) {
      storage->dropped = false;
      release(storage);
    }
  }
  // Turns a borrow into a counted reference. If the storage is already dropped, its last borrower gets the
  // register's reference.
  void own_storage(VmTensor *tensor) {
    auto *storage = static_cast<VmStorage *>(tensor->owner);
    if (--storage->borrowers || !storage->dropped) retain(storage);
    else storage->dropped = false;
    tensor->borrows = false;
  }
  friend struct VmTensor;

  friend Ref<Tensor> make_lasting_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device,
                                         MemoryUse use);

  const uint64_t id_;
  static constexpr int32_t kNoType = INT32_MIN;  // no value has this type
  const int32_t storage_type_ = VmStorage::type();
  int32_t fast_storage_type_ = storage_type_;
  const std::span<const VmDevice> devices_;  // the VM's
  Ref<MemoryBudget> budget_;
  std::vector<VmTensor *> tensors_;  // free lists, by template
  static constexpr size_t kRanks = 8;
  VmTensor *shapeless_[kRanks] = {};  // free lists of tensors without a template, by rank
  std::vector<SizeClass> classes_;
  // Idle storages may have as many bytes as were in use at once, or kKeptFloor. Otherwise a program whose sizes vary
  // would keep storages of all sizes that it ever had.
  uint64_t kept_bytes_ = 0, kept_limit_ = kKeptFloor, num_returns_ = 0;
  int64_t used_bytes_ = 0;  // may fall below 0, because storages of an earlier call may come back
  std::unordered_map<StorageKind, uint32_t, StorageKind::Hash> class_of_;
};

// Makes a storage outside of any run, for builtins that are called outside one.
Ref<VmStorage> make_vm_storage(DLDevice device, opd_allocator_kind kind, uint64_t bytes, Ref<MemoryBudget> budget,
                               MemoryUse use = MemoryUse::kTensor, const ImageShape &image = {});

// Throws because the tensor would be only a part of the storage's image.
[[noreturn]] void fail_part_of_image(const VmStorage &storage, uint64_t offset, uint64_t bytes);

// Makes a tensor whose size the program chooses, and which may outlive the run. If a VM runs, its budget counts the
// tensor.
Ref<Tensor> make_lasting_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, MemoryUse use);

// ---- block_versions.cc: memory recordings: one event (kBind) for each version of a block. A version begins when the
// library gives the block new contents. Writes of kernels to their arguments are not recorded. Cost without such a
// recording: one load.

// Records that a tensor was made in the storage, which a kernel will fill next. Call it only if is_recording(Interest::kMemory).
void record_version(const VmStorage &storage) noexcept;

void record_write(const Tensor &tensor, MemoryUse use) noexcept;
// Records that the library wrote to an existing tensor.
inline void note_write(const Tensor &tensor, MemoryUse use = MemoryUse::kTensor) noexcept {
  if (is_recording(Interest::kMemory)) [[unlikely]]
    record_write(tensor, use);
}

}  // namespace opd
