// Tensors and storages of running programs.
//
// A program makes and drops a tensor for nearly every kernel, often of a few bytes, so this must cost less than the
// smallest kernel. Three things make it cheap:
// 1. Each run has a pool, which only the run's thread touches, so no lock is taken.
// 2. Dropped tensors and storages go to free lists by shape and by size, so malloc is called in the first run only.
// 3. A tensor that stays inside the run *borrows* its storage: the storage counts its borrowers in a plain integer, so
//    no atomic operation is needed. A tensor that leaves the run (it is returned, put into a tuple, kept by a foreign
//    function) becomes a counted owner of its storage first, because another thread may then drop it.
//
// An object may end on another thread, or after its run. `home` is the number of the pool that it came from: only there
// may it go to a free list; elsewhere it goes back to the heap. Numbers are never used again, so an object that
// outlives its pool cannot be taken for one of a later pool.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/thread_state.h"
#include "device/memory/allocator.h"
#include "value/tensor.h"

namespace opd {

// The memory limit of all storages of one VM. Thread-safe; lives until the VM and its last storage have ended.
struct MemoryBudget : Object {
  static int32_t type() { return OPD_OBJECT; }
  explicit MemoryBudget(uint64_t limit) : limit_bytes(limit) {}  // 0: the limit of the process
  void charge(uint64_t bytes);                                   // throws OPD_OUT_OF_MEMORY
  void refund(uint64_t bytes) { used_bytes.fetch_sub(bytes, std::memory_order_relaxed); }
  std::atomic<uint64_t> used_bytes{0};

 private:
  uint64_t limit_for(uint64_t used, uint64_t bytes);
  std::atomic<uint64_t> limit_bytes;  // 0: not asked yet
};

struct VmStorage final : Object {
  static int32_t type();  // "opdyno.vm.Storage"
  char *data = nullptr;
  uint64_t size = 0;  // 0 if it is an image, which has one tensor only: so paths for parts of a block do not take it
  ImageShape image;
  DLDevice device{};
  Allocator *allocator = nullptr;
  MemoryBudget *budget = nullptr;  // one reference
  uint64_t home = 0;
  VmStorage *next = nullptr;  // in a free list
  uint32_t size_class = 0;
  uint32_t borrowers = 0;  // tensors of the home run that use the storage without a reference
  bool dropped = false;    // its register dropped it while tensors borrowed it: the last borrower ends that reference

  uint64_t bytes() const { return size + image.bytes(); }
};

struct VmDevice {
  DLDevice device;
  opd_allocator_kind allocator;
};

struct StorageKind {
  uint64_t bytes;
  int64_t device;      // index into the VM's devices; -1: the last, which is the host
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
  static std::unique_ptr<TensorTemplate> make(std::span<const int64_t> dims, DLDataType dtype, uint32_t id);  // or null
};

struct VmTensor final : Tensor {
  static constexpr uint32_t kNoTemplate = UINT32_MAX;
  uint64_t home = 0;
  VmTensor *next = nullptr;
  uint32_t template_id = kNoTemplate;
  bool borrows = false;  // `owner` is a VmStorage of the same run, whose reference count does not include this tensor
  static void destroy(void *self, int flags);
};

// Whether nothing else has a reference to the tensor, nor to its memory as far as this library knows. It does not know
// the memory of tensors that another library made: false.
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
  // Type of the storages that alloc_tensor's fast path takes. While bindings are recorded there is none, so that the
  // slow path sees all of them, and the fast path has no test for it.
  int32_t fast_storage_type() const { return fast_storage_type_; }
  // Whether each tensor that is made in a storage is recorded. Set for a whole run: see Run::record_bindings().
  bool records_bindings() const { return fast_storage_type_ != storage_type_; }
  void set_records_bindings(bool records) { fast_storage_type_ = records ? kNoType : storage_type_; }

  uint32_t add_template() {  // for a template of the run's own
    tensors_.push_back(nullptr);
    return static_cast<uint32_t>(tensors_.size()) - 1;
  }
  uint32_t size_class_of(StorageKind kind);
  const VmDevice &device_of(int64_t index) const;  // as StorageKind's; throws OPD_OUT_OF_RANGE
  int64_t index_of(DLDevice device) const;         // as StorageKind's; throws OPD_INVALID_ARGUMENT if the VM lacks it
  VmStorage *storage(uint32_t size_class) {        // the caller gets one reference
    VmStorage *&head = classes_[size_class].head;
    if (!head) [[unlikely]]
      return new_storage(size_class);
    VmStorage *storage = head;
    head = storage->next;
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
  // The same, but only from the free list; null if that is empty.
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

  // Ends a register's reference to an object. The common cases change no count: a tensor of this run without other
  // references goes to its free list; a storage that tensors still borrow is only marked, because these tensors end
  // before the run does.
  void drop(Object *object) {
    if (object->deleter == &VmTensor::destroy) {
      auto *tensor = static_cast<VmTensor *>(static_cast<Tensor *>(object));
      if (tensor->home == id_ && tensor->borrows) {  // of other runs' tensors only `home` may be read: it never changes
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

  // The most frequent case of drop(), which calls no function: a tensor of a known shape, without other references.
  // False: it is another case, and nothing was done.
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
      when_short;  // called when an allocation fails: frees all unused memory, so that the allocation can be repeated

  // Takes an unused tensor, for tensor() to return again.
  void keep(VmTensor *tensor) {
    if (tensor->template_id == VmTensor::kNoTemplate) [[unlikely]]
      return keep_shapeless(tensor);
    tensor->owner = nullptr;
    tensor->borrows = false;
    tensor->next = std::exchange(tensors_[tensor->template_id], tensor);
  }
  bool keep(VmStorage *storage);  // false: the device's allocator is not pooled
  void trim();
  uint64_t kept_bytes(DLDevice device) const;  // of the storages in free lists

 private:
  struct SizeClass {
    StorageKind kind;
    VmStorage *head = nullptr;
  };

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
  // Turns a borrow into a counted reference. If the storage is dropped already, its last borrower takes over the
  // register's.
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
  static constexpr int32_t kNoType = INT32_MIN;  // no value has it
  const int32_t storage_type_ = VmStorage::type();
  int32_t fast_storage_type_ = storage_type_;
  const std::span<const VmDevice> devices_;  // the VM's
  Ref<MemoryBudget> budget_;
  std::vector<VmTensor *> tensors_;  // free lists, by template
  static constexpr size_t kRanks = 8;
  VmTensor *shapeless_[kRanks] = {};  // free lists of tensors without a template, by rank
  std::vector<SizeClass> classes_;
  std::unordered_map<StorageKind, uint32_t, StorageKind::Hash> class_of_;
};

// A storage that belongs to no run: for builtins called from outside one.
Ref<VmStorage> make_vm_storage(DLDevice device, opd_allocator_kind kind, uint64_t bytes, Ref<MemoryBudget> budget,
                               MemoryUse use = MemoryUse::kTensor, const ImageShape &image = {});

// A tensor that is smaller than the image that its storage is.
[[noreturn]] void fail_part_of_image(const VmStorage &storage, uint64_t offset, uint64_t bytes);

// A tensor of a size that the program chooses, which may outlive the run. If a VM runs, the tensor counts for its
// budget.
Ref<Tensor> make_lasting_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, MemoryUse use);

}  // namespace opd
