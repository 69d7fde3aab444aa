#include "trace/model/names.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>

#include "base/fork_mutex.h"
#include "base/stack_walk.h"

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
  static constexpr size_t kMost = kMostNames - 1;  // one number is left for all further names
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

// ---- stacks

namespace {

// Stacks are kept as names are. Readers need no lock: they have the number from the thread that made the stack, or from
// an event that was published later.
class Stacks {
 public:
  static Stacks &get() {
    static auto *stacks = new Stacks;  // never destroyed: threads may record while the process exits
    return *stacks;
  }

  StackId id_of(std::span<const uint64_t> frames) {
    const std::string_view key(reinterpret_cast<const char *>(frames.data()), frames.size_bytes());
    std::scoped_lock lock(guard_);
    if (const auto known = ids_.find(key); known != ids_.end()) return known->second;
    if (size_ + 1 < kMostStacks && words_ + frames.size() <= kMostWords) return add(frames);
    if (!further_) {
      const uint64_t frame = pack_frame({name_id("(further stacks)"), kNoName, 0});
      further_ = add({&frame, 1});
    }
    return further_;
  }

  std::span<const uint64_t> frames(StackId id) const noexcept {
    const Stack *block = id < kMostStacks ? blocks_[id / kBlock].load(std::memory_order_acquire) : nullptr;
    return block ? std::span(block[id % kBlock].words.get(), block[id % kBlock].size) : std::span<const uint64_t>();
  }

 private:
  static constexpr size_t kBlock = 1024, kMostWords = size_t{1} << 23;
  struct Stack {
    std::unique_ptr<uint64_t[]> words;
    size_t size = 0;
  };

  StackId add(std::span<const uint64_t> frames) {
    auto &block = blocks_[size_ / kBlock];
    if (!block.load(std::memory_order_relaxed)) block.store(new Stack[kBlock], std::memory_order_release);
    auto words = std::make_unique_for_overwrite<uint64_t[]>(frames.size());
    std::ranges::copy(frames, words.get());
    ids_.emplace(std::string_view(reinterpret_cast<const char *>(words.get()), frames.size_bytes()), size_);
    block.load(std::memory_order_relaxed)[size_ % kBlock] = {std::move(words), frames.size()};
    words_ += frames.size();
    return size_++;
  }

  ForkMutex guard_{LockRank::kStacks};
  std::array<std::atomic<Stack *>, kMostStacks / kBlock> blocks_{};
  std::unordered_map<std::string_view, StackId> ids_;  // keys are views of the words
  StackId size_ = 1, further_ = 0;
  size_t words_ = 0;
};
// Constructed at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const Stacks &stacks_made_at_load = Stacks::get();

// The language stacks of the calling thread, outermost first. Deeper ones than kMost are only counted; they have the
// frames of the last one that is kept.
struct LanguageStacks {
  static constexpr uint32_t kMost = 8;
  struct Entry {
    StackId id;
    uintptr_t place;
  };
  uint32_t depth;
  std::array<Entry, kMost> entries;

  const Entry *innermost() const { return depth ? &entries[std::min(depth, kMost) - 1] : nullptr; }
};
constinit thread_local LanguageStacks language_stacks{};

constexpr uint32_t kNameBits = 21, kLineBits = 21;
static_assert(kMostNames < 1u << kNameBits);

}  // namespace

uint64_t pack_frame(const LanguageFrame &frame) noexcept {
  const uint64_t function = std::min(frame.function, kMostNames), file = std::min(frame.file, kMostNames);
  const uint64_t line = std::min(frame.line, (1u << kLineBits) - 1);
  return uint64_t{1} << 63 | function << (kNameBits + kLineBits) | file << kLineBits | line;
}

LanguageFrame unpack_frame(uint64_t word) noexcept {
  constexpr uint64_t kName = (1u << kNameBits) - 1, kLine = (1u << kLineBits) - 1;
  return {static_cast<NameId>(word >> (kNameBits + kLineBits) & kName), static_cast<NameId>(word >> kLineBits & kName),
          static_cast<uint32_t>(word & kLine)};
}

StackId stack_id(std::span<const uint64_t> frames) { return frames.empty() ? 0 : Stacks::get().id_of(frames); }
std::span<const uint64_t> stack_frames(StackId id) noexcept { return Stacks::get().frames(id); }

StackId capture_stack() noexcept try {
  constexpr size_t kMostNative = 128;
  const LanguageStacks::Entry *language = language_stacks.innermost();
  const std::span<const uint64_t> outer = language ? stack_frames(language->id) : std::span<const uint64_t>();
  std::array<uint64_t, 2 * kMostNative> frames;
  const size_t native = walk_stack(frames.data(), kMostNative, outer.empty() ? UINTPTR_MAX : language->place);
  if (native == 0 && language) return language->id;
  const size_t count = std::min(outer.size(), frames.size() - native);
  std::ranges::copy(outer.first(count), frames.begin() + static_cast<std::ptrdiff_t>(native));
  return stack_id({frames.data(), native + count});
} catch (const std::bad_alloc &) { return 0; }

void push_language_stack(std::span<const uint64_t> frames, uintptr_t place) noexcept {
  LanguageStacks &stacks = language_stacks;
  if (stacks.depth++ >= LanguageStacks::kMost) return;
  StackId id = 0;
  try {
    id = stack_id(frames);
  } catch (const std::bad_alloc &) {}
  stacks.entries[stacks.depth - 1] = {id, place};
}

void pop_language_stack() noexcept {
  if (language_stacks.depth) --language_stacks.depth;
}

}  // namespace opd
