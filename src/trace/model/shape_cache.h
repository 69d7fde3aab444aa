// Caches texts that readers make of tensors' descriptions. The key is the address, which events with equal tensors
// mostly share.
#pragma once
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/model/event.h"

namespace opd {

template <class T>
class ShapeCache {
 public:
  // make(event), cached by the tensors' description.
  template <class Make>
  const T &of(const Event &event, const Make &make) {
    const int64_t *const address = shapes_address(event);
    Entry &entry = entries_[reinterpret_cast<uintptr_t>(address) / sizeof(int64_t) % entries_.size()];
    if (entry.address != address) entry = {address, make(event)};
    return entry.made;
  }

 private:
  struct Entry {
    const int64_t *address = nullptr;
    T made;
  };
  std::vector<Entry> entries_ = std::vector<Entry>(1024);
};

// Numbers for distinct lists of tensors, from 1 on; 0: no tensor.
class ShapeNumbers {
 public:
  uint32_t of(const Event &event) {
    if (num_tensors(event) == 0) return 0;
    return by_address_.of(event, [this](const Event &first) {
      const std::span<const int64_t> words = shape_words(first);
      const std::string_view key(reinterpret_cast<const char *>(words.data()), words.size_bytes());
      return by_words_.try_emplace(key, static_cast<uint32_t>(by_words_.size() + 1)).first->second;
    });
  }

 private:
  ShapeCache<uint32_t> by_address_;
  std::unordered_map<std::string_view, uint32_t> by_words_;  // keys are views of words in the trace
};

}  // namespace opd
