#include "trace/model/names.h"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/fork_mutex.h"

namespace opd {
namespace {

// Texts are in blocks that never move. A reader needs no lock: it has the number from the thread that made the name, or
// from an event that was published later.
class Names {
 public:
  static Names &get() {
    static auto *names = new Names;  // never destroyed: threads may record while the process exits
    return *names;
  }

  NameId id_of(std::string_view name) {
    std::scoped_lock lock(guard_);
    if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
    if (size_ < kMost) return add(name);
    const auto shared = ids_.find(kFurther);
    return shared != ids_.end() ? shared->second : add(kFurther);
  }

  NameId count() noexcept {
    std::scoped_lock lock(guard_);
    return static_cast<NameId>(size_);
  }

  const std::string &text(NameId id) const noexcept {
    const std::string *block = id < kMostNames ? blocks_[id / kBlock].load(std::memory_order_acquire) : nullptr;
    return block ? block[id % kBlock] : unknown_;
  }

 private:
  static constexpr size_t kBlock = 1024;
  static constexpr size_t kMost = kMostNames - 1;  // one is left for all further names
  static constexpr std::string_view kFurther = "(further names)";

  NameId add(std::string_view name) {
    auto &block = blocks_[size_ / kBlock];
    if (!block.load(std::memory_order_relaxed)) block.store(new std::string[kBlock], std::memory_order_release);
    std::string &text = block.load(std::memory_order_relaxed)[size_ % kBlock];
    text = name;
    try {
      ids_.emplace(text, static_cast<NameId>(size_));
    } catch (const std::bad_alloc &) {
      std::string().swap(text);
      throw;
    }
    return static_cast<NameId>(size_++);
  }

  ForkMutex guard_{LockRank::kNames};
  std::array<std::atomic<std::string *>, kMost / kBlock + 1> blocks_{};
  std::unordered_map<std::string_view, NameId> ids_;  // keys are views of the texts in the blocks
  size_t size_ = 0;
  const std::string unknown_ = "?";
};
// Constructed at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const Names &names_made_at_load = Names::get();

}  // namespace

NameId name_count() noexcept { return Names::get().count(); }

NameId name_id(std::string_view name) { return Names::get().id_of(name); }
const std::string &name_text(NameId id) noexcept { return Names::get().text(id); }

}  // namespace opd
