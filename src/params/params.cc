#include "params/params.h"

#include "base/fork_mutex.h"
#include "device/device.h"

namespace opd {

// ---- properties that do not need the elements

const DLTensor *Params::given(size_t i) const {  // null if the entry is stored in a file
  return entries_[i].stored ? nullptr : &entries_[i].tensor.load(std::memory_order_acquire)->dl;
}

DLDataType Params::dtype(size_t i) const {
  const DLTensor *tensor = given(i);
  return tensor ? tensor->dtype : entries_[i].stored->dtype;
}

std::span<const int64_t> Params::dims(size_t i) const {
  const DLTensor *tensor = given(i);
  return tensor ? dims_of(*tensor) : std::span<const int64_t>(entries_[i].stored->dims);
}

uint64_t Params::bytes(size_t i) const {
  const DLTensor *tensor = given(i);
  return tensor ? bytes_of(*tensor) : entries_[i].stored->bytes;
}

bool Params::is_view(size_t i) const { return entries_[i].stored && entries_[i].stored->is_view(); }

uint64_t Params::total_bytes() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < size(); ++i) sum += bytes(i);
  return sum;
}

size_t Params::place(std::string_view name) const {
  const auto found = places_.find(name);
  if (found != places_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto &entry : entries_) names.push_back(entry.name);
  fail(OPD_NOT_FOUND, "there is no parameter \"", name, "\" among ", size(), ".", suggestion(name, names));
}

// ---- the tensors

// Entries of all files share a few locks, because there may be thousands of entries.
static ForkMutex &making_lock(const void *entry) {
  struct Lock {
    ForkMutex mutex{LockRank::kParams};
  };
  constexpr size_t kLocks = 16;
  static auto *locks = new Lock[kLocks];
  return locks[reinterpret_cast<uintptr_t>(entry) / 64 % kLocks].mutex;
}

Ref<Tensor> Params::made(const Entry &entry) const {
  if (Tensor *tensor = entry.tensor.load(std::memory_order_acquire)) return Ref<Tensor>::share(tensor);
  std::scoped_lock lock(making_lock(&entry));
  if (Tensor *tensor = entry.tensor.load(std::memory_order_acquire)) return Ref<Tensor>::share(tensor);
  const StoredTensor *stored = entry.stored.get();
  Ref<Tensor> tensor = std::move(make_tensors({&stored, 1}, false).front());
  (stored->is_view() ? viewed_ : copied_).fetch_add(stored->bytes, std::memory_order_relaxed);
  entry.put(tensor);
  return tensor;
}

void Params::copy_all() {
  std::vector<const StoredTensor *> stored;
  std::vector<Entry *> entries;
  for (Entry &entry : entries_)
    if (entry.stored && !entry.tensor.load(std::memory_order_acquire)) {
      stored.push_back(entry.stored.get());
      entries.push_back(&entry);
    }
  std::vector<Ref<Tensor>> tensors = make_tensors(stored, true);
  for (size_t i = 0; i < entries.size(); ++i) {
    copied_.fetch_add(stored[i]->bytes, std::memory_order_relaxed);
    entries[i]->put(std::move(tensors[i]));
  }
  for (Entry &entry : entries_)
    if (entry.stored && !entry.stored->is_view()) entry.stored.reset();
}

Params::Entry *Params::add_entry(std::string_view name) {
  if (places_.contains(name)) return nullptr;
  Entry &entry = entries_.emplace_back(name);
  places_.emplace(entry.name, entries_.size() - 1);
  return &entry;
}

bool Params::add(std::string_view name, Ref<Tensor> tensor) {
  Entry *entry = add_entry(name);
  if (entry) entry->put(std::move(tensor));
  return entry;
}

bool Params::add(std::string_view name, StoredTensor stored) {
  auto kept = std::make_unique<const StoredTensor>(std::move(stored));
  Entry *entry = add_entry(name);
  if (entry) entry->stored = std::move(kept);
  return entry;
}

void Params::set(std::string_view name, Ref<Tensor> tensor) {
  const auto found = places_.find(name);
  if (found == places_.end()) return void(add(name, std::move(tensor)));
  entries_[found->second].put(std::move(tensor));
  entries_[found->second].stored.reset();
}

Ref<Tensor> on_host(Ref<Tensor> tensor) {
  if (tensor->dl.device.device_type == kDLCPU && is_contiguous(tensor->dl)) return tensor;
  return copied_to(kHost, tensor->dl);
}

}  // namespace opd
