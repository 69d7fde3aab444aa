// Named tensors in a fixed order. A tensor is either given by the caller, or stored in a file and made at its first
// use.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "params/stored_tensor.h"

namespace opd {

// Reading is thread-safe: two threads that ask for a tensor at the same time get the same one. Adding is not.
struct Params : Object {
  static int32_t type() { return registered_type<"opdyno.Params">(); }

  size_t size() const { return entries_.size(); }
  const std::string &name(size_t i) const { return entries_[i].name; }
  DLDataType dtype(size_t i) const;
  std::span<const int64_t> dims(size_t i) const;
  uint64_t bytes(size_t i) const;
  bool is_view(size_t i) const;  // whether the tensor is, or will be, a view of the file
  Ref<Tensor> tensor(size_t i) const { return made(entries_[i]); }
  Ref<Tensor> get(std::string_view name) const { return made(entries_[place(name)]); }
  size_t place(std::string_view name) const;  // throws OPD_NOT_FOUND and suggests similar names

  bool add(std::string_view name, Ref<Tensor> tensor);  // if the name is taken, returns false and does nothing
  bool add(std::string_view name, StoredTensor stored);
  void set(std::string_view name, Ref<Tensor> tensor);  // adds the tensor, or replaces an existing one in place
  void copy_all();  // copies all remaining tensors into their own memory and releases the sources

  uint64_t total_bytes() const;
  uint64_t viewed_bytes() const { return viewed_.load(std::memory_order_relaxed); }  // counts the tensors made so far
  uint64_t copied_bytes() const { return copied_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::string name;
    std::unique_ptr<const StoredTensor> stored;     // null if given by the caller, or after copy_all()
    mutable std::atomic<Tensor *> tensor{nullptr};  // owned; made once, replaced by set()

    explicit Entry(std::string_view n) : name(n) {}
    ~Entry() { put(nullptr); }
    void put(Ref<Tensor> next) const {
      if (Tensor *last = tensor.exchange(next.detach(), std::memory_order_acq_rel)) release(last);
    }
  };

  Entry *add_entry(std::string_view name);
  Ref<Tensor> made(const Entry &entry) const;
  const DLTensor *given(size_t i) const;

  std::deque<Entry> entries_;  // a deque, because callers borrow names, so entries must never move
  std::unordered_map<std::string_view, size_t> places_;
  mutable std::atomic<uint64_t> viewed_{0}, copied_{0};
};

// Returns the tensor itself if it is compact and on the CPU. Otherwise returns a compact copy on the CPU.
Ref<Tensor> on_host(Ref<Tensor> tensor);

}  // namespace opd
