#include "trace/model/event.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "base/fork_mutex.h"
#include "value/tensor.h"

namespace opd {
namespace {

// The first word of an item. The second word holds the metric's bits or the text's length. The text follows, padded to
// whole words.
struct ItemHead {
  NameId name;
  EventItem::Type type;
  MetricKind kind;
  Recordings recordings;
};
static_assert(sizeof(ItemHead) == sizeof(int64_t));

size_t words_for(size_t bytes) { return (bytes + sizeof(int64_t) - 1) / sizeof(int64_t); }

}  // namespace

void EventItems::add(const EventItem &item) {
  const bool is_text = item.metric.is_text();
  const size_t at = words_.empty() ? 1 : words_.size();
  const size_t end = at + 2 + (is_text ? words_for(item.text.size()) : 0);
  words_.resize(end);
  words_[0] = static_cast<int64_t>(end - 1);
  words_[at] = std::bit_cast<int64_t>(ItemHead{item.name, item.type, item.metric.kind, item.recordings});
  words_[at + 1] = std::bit_cast<int64_t>(is_text ? uint64_t{item.text.size()} : item.metric.bits);
  if (is_text && !item.text.empty()) std::memcpy(&words_[at + 2], item.text.data(), item.text.size());
}

const int64_t *detail::words_of(const Event &event) { return Chunk::of(event).words(); }

std::span<const int64_t> shape_words(const Event &event) {
  const size_t size = each_tensor(event, [](DLDataType, std::span<const int64_t>) {});
  return {shapes_address(event), size};
}

std::string shapes_text(const Event &event) {
  std::string out;
  each_tensor(event, [&](DLDataType dtype, std::span<const int64_t> dims) {
    if (!out.empty()) out += ", ";
    out += dtype_name(dtype);
    append_dims(out, dims);
  });
  return out;
}

uint64_t tensor_bytes(const Event &event) {
  uint64_t sum = 0;
  each_tensor(event, [&](DLDataType dtype, std::span<const int64_t> dims) {
    uint64_t elements = 1;
    for (const int64_t dim : dims) elements *= static_cast<uint64_t>(dim);
    sum += (elements * dtype.bits * dtype.lanes + 7) / 8;
  });
  return sum;
}

bool next_item(const Event &event, size_t &at, EventItem &item) {
  if (has_no_words(event.kind) || !event.items) return false;
  const int64_t *const words = detail::words_of(event) + event.items;
  if (at == static_cast<size_t>(words[0])) return false;
  const auto head = std::bit_cast<ItemHead>(words[at + 1]);
  item = {head.type, head.recordings, head.name, {head.kind, std::bit_cast<uint64_t>(words[at + 2])}, {}};
  at += 2;
  if (!item.metric.is_text()) return true;
  item.text = {reinterpret_cast<const char *>(words + at + 1), item.metric.bits};
  at += words_for(item.text.size());
  return true;
}

size_t check_item(const int64_t *words, size_t left) {
  if (left < 2) return 0;
  unsigned char head[sizeof(ItemHead)];
  std::memcpy(head, words, sizeof head);
  const unsigned char type = head[offsetof(ItemHead, type)], kind = head[offsetof(ItemHead, kind)];
  if (type > static_cast<unsigned char>(EventItem::Type::kWaited) ||
      kind > static_cast<unsigned char>(MetricKind::kHertz))
    return 0;
  if (!Metric{static_cast<MetricKind>(kind), 0}.is_text()) return 2;
  const auto size = static_cast<uint64_t>(words[1]);
  return size <= (left - 2) * sizeof(int64_t) ? 2 + words_for(size) : 0;
}

NameId item_name(int64_t first_word) { return std::bit_cast<ItemHead>(first_word).name; }
void set_item_name(int64_t &first_word, NameId name) {
  auto head = std::bit_cast<ItemHead>(first_word);
  head.name = name;
  first_word = std::bit_cast<int64_t>(head);
}

std::string_view item_text(const Event &event, EventItem::Type type) {
  EventItem item;
  for (size_t at = 0; next_item(event, at, item);)
    if (item.type == type) return item.text;
  return {};
}

// ---- chunks

namespace {

// Keeps released chunks for reuse. Otherwise each recording would pay for page faults again, a third of its cost.
class Spare {
 public:
  static Spare &get() {
    static auto *spare = new Spare;  // never destroyed: threads may record while the process exits
    return *spare;
  }

  void *take() {
    std::scoped_lock lock(guard_);
    if (chunks_.empty()) return nullptr;
    void *const memory = chunks_.back();
    chunks_.pop_back();
    return memory;
  }

  void give(void *memory) noexcept {
    {
      std::scoped_lock lock(guard_);
      // Capacity was reserved, so this does not allocate.
      if (chunks_.size() < kKept) return chunks_.push_back(memory);
    }
    std::free(memory);
  }

  void reserve(size_t count) {
    {
      std::scoped_lock lock(guard_);
      count -= std::min(count, chunks_.size());
      chunks_.reserve(std::max(kKept, chunks_.size() + count));
    }
    for (; count > 0; --count) {
      void *const memory = allocate(Chunk::kBytes);
      std::scoped_lock lock(guard_);
      if (chunks_.size() == chunks_.capacity()) return std::free(memory);
      chunks_.push_back(memory);
    }
  }

  void trim() noexcept {
    for (;;) {
      void *memory;
      {
        std::scoped_lock lock(guard_);
        if (chunks_.size() <= kKept) return;
        memory = chunks_.back();
        chunks_.pop_back();
      }
      std::free(memory);
    }
  }

  static void *allocate(size_t bytes) {
    void *const memory = std::aligned_alloc(Chunk::kBytes, bytes);
    if (!memory) throw std::bad_alloc();
    return std::memset(memory, 0, bytes);
  }

 private:
  static constexpr size_t kKept = 128;  // 8 MiB: about 100,000 events
  Spare() { chunks_.reserve(kKept); }

  ForkMutex guard_{LockRank::kChunks};
  std::vector<void *> chunks_;
};
// Constructed at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const Spare &spare_made_at_load = Spare::get();

void release_chunk(Chunk *chunk) {
  if (chunk->tail_words) std::free(chunk);
  else Spare::get().give(chunk);
}

}  // namespace

std::shared_ptr<Chunk> Chunk::make(uint64_t first, size_t tail_words) {
  const size_t bytes = (kBytes + tail_words * sizeof(int64_t) + kBytes - 1) / kBytes * kBytes;
  void *memory = tail_words ? nullptr : Spare::get().take();
  if (!memory) memory = Spare::allocate(bytes);
  auto *const chunk = new (memory) Chunk;
  chunk->first = first;
  chunk->tail_words = tail_words;
  return {chunk, &release_chunk};  // calls release_chunk() also if the counter cannot be allocated
}

void Chunk::release_free_pages(uint32_t top, uint32_t count) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(words() + top) + page - 1) & ~(page - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(event(0) + 1 - count) & ~(page - 1);
  if (begin < end) ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

void Chunk::reserve(size_t chunks) { Spare::get().reserve(chunks); }
void Chunk::trim() noexcept { Spare::get().trim(); }

}  // namespace opd
