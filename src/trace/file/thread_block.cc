#include "trace/file/thread_block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "trace/file/event_file.h"

namespace opd {
namespace {

template <class T>
void store(T &place, T value) {  // release order: earlier stores are visible first
  std::atomic_ref(place).store(value, std::memory_order_release);
}

}  // namespace

MappedBlock::MappedBlock(int file, uint64_t offset) : offset_(offset) {
  void *const data = ::mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  if (data == MAP_FAILED) fail_errno("cannot map a block of", "a recording's file", errno);
  data_ = static_cast<char *>(data);
}

MappedBlock::~MappedBlock() { unmap(data_, kBlockBytes); }

void MappedBlock::begin(BlockHeader header) {
  header.magic = {};
  BlockHeader &place = this->header();
  store(reinterpret_cast<uint64_t &>(place.magic), uint64_t{0});
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(static_cast<void *>(&place), &header, sizeof header);
  store(reinterpret_cast<uint64_t &>(place.magic), std::bit_cast<uint64_t>(kBlockMagic));
}

void MappedBlock::keep_private(int file) noexcept {
  ::mmap(data_, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, static_cast<off_t>(offset_));
}

ThreadBlock::ThreadBlock(std::shared_ptr<EventFile> file, std::unique_ptr<MappedBlock> block,
                         const ThreadRecord &thread)
    : file_(std::move(file)), block_(std::move(block)) {
  BlockHeader header{};
  header.file_id = file_->id();
  header.type = BlockType::kEvents;
  header.track = static_cast<uint32_t>(thread.track);
  header.state = BlockState{0, kHeaderWords, 0}.packed();
  header.thread_id = thread.thread_id;
  std::ranges::copy(thread.thread_name, header.thread_name);
  block_->begin(header);
}

// The words and events of a chunk have the same places in the block.
void ThreadBlock::add_open(const Chunk &chunk, uint32_t top, uint32_t count) {
  if (top > top_) {
    std::memcpy(block_->words() + top_, chunk.words() + top_, (top - top_) * sizeof(uint64_t));
    top_ = top;
  }
  for (; count_ < count; ++count_) {
    const Event &event = *chunk.event(count_);
    add_names_of(event);
    Event &place = *block_->event(count_);
    place = event;
    // Words after the chunk's first 64 KiB have no room in a block.
    if (has_no_words(event.kind)) continue;
    if (event.num_tensors && event.shapes >= Chunk::kTail) place.num_tensors = place.shapes = 0;
    if (event.items >= Chunk::kTail) place.items = 0;
  }
  BlockState state = block_->state();
  state.top = static_cast<uint16_t>(top_), state.count = static_cast<uint16_t>(count_);
  block_->publish(state);
}

void ThreadBlock::add_names_of(const Event &event) {
  if (!file_->has_name(event.name)) [[unlikely]]
    file_->add_names(event.name);
  if (!file_->has_stack(stack_of(event))) [[unlikely]]
    file_->add_stacks(stack_of(event));
  if (has_no_words(event.kind) || !event.items) return;
  EventItem item;
  for (size_t at = 0; next_item(event, at, item);)
    if (!file_->has_name(item.name)) file_->add_names(item.name);
}

void ThreadBlock::begin_chunk() {
  std::scoped_lock lock(guard_);
  if (!is_closed()) seal();
  top_ = kHeaderWords, count_ = 0;
}

void ThreadBlock::count_drop(uint64_t count) {
  const Change change(*this);
  if (!change.is_allowed()) return;
  uint64_t &dropped = block_->header().dropped;
  store(dropped, dropped + count);
}

void ThreadBlock::show_open_spans(const OpenSpans &spans) {
  const Change change(*this);
  if (!change.is_allowed()) return;
  BlockHeader &header = block_->header();
  const uint64_t count = std::min<uint64_t>(spans.count(), kMostOpenSpans);
  for (uint32_t i = 0; i < count; ++i) {
    const OpenSpan span = spans.at(i);
    OpenSpanRecord &place = header.open_spans[i];
    if (!file_->has_name(span.name)) file_->add_names(span.name);
    if (!file_->has_stack(span.stack)) file_->add_stacks(span.stack);
    if (std::atomic_ref(place.begin).load(std::memory_order_relaxed) == span.begin) continue;
    store(place.begin, uint64_t{0});
    store(place.what.word, PackedSpan::of(span).word);
    store(place.run, span.run);
    store(place.parent_run, span.parent_run);
    store(place.begin, span.begin);
  }
  store(header.num_open_spans, count);
}

// The events are written to FILE before one store empties the block, so each event is always in one of the two files.
uint64_t ThreadBlock::seal() {
  const BlockState state = block_->state();
  BlockHeader &live = block_->header();
  uint64_t produced = live.produced[state.sequence % 2];
  // After the seal, the open spans are no longer in FILE.live.
  const bool shows_open_spans = is_closed() && std::atomic_ref(live.num_open_spans).load(std::memory_order_acquire) > 0;
  if (state.count == 0 && !shows_open_spans) return produced;
  for (uint32_t i = 0; i < state.count; ++i) produced += file_->events().takes(*block_->event(i));
  file_->write_events(live, block_->words() + kHeaderWords, block_->event(std::max<uint32_t>(state.count, 1) - 1));
  BlockState next{state.sequence + 1, kHeaderWords, 0};
  store(live.produced[next.sequence % 2], produced);
  block_->publish(next);
  return produced;
}

void ThreadBlock::end_thread() noexcept { file_->end_thread(*this); }

// Spinning is short: a change is a few stores and, now and then, the writing of a name.
void ThreadBlock::wait_for_change() const {
  while (is_changing()) std::this_thread::yield();
}

ThreadRecord ThreadBlock::close() {
  std::scoped_lock lock(guard_);
  is_closed_ = true;
  const BlockHeader &live = block_->header();
  ThreadRecord record{live.track, seal(), live.dropped, live.thread_id, {}};
  std::ranges::copy(live.thread_name, record.thread_name);
  return record;
}

}  // namespace opd
