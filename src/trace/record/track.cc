#include "trace/record/track.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>

#include "base/static_guard.h"
#include "base/thread_state.h"

namespace opd {

Track::Track() : thread_number_(opd::thread_number()) { refresh(); }

void Track::refresh() {
  char name[64] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  generation_ = fork_generation();
  thread_id_ = ::syscall(SYS_gettid);
  thread_name_ = name;
}

bool Track::is_lost() const { return generation_ != fork_generation() && thread_number_ != fork_survivor(); }

void Track::end() noexcept {
  has_ended_ = true;
  caches_.reset();
  if (chunk_) chunk_->release_free_pages(top_, count());
}

void Track::open_part(uint32_t recording, uint64_t id, PartOptions options) {
  settle();
  Part &part = parts_[recording];
  part.id = id;
  part.start = num_events();
  part.left = part.runs_left = options.max_calls;
  part.dropped = 0;
  part.overwritten = 0;
  part.observer = options.observer;
  part.file = std::move(options.file);
  part.full_file = std::move(options.full_file);
  const auto bit = static_cast<Recordings>(1u << recording);
  const auto set = [bit](Recordings &bits, bool value) {
    bits = static_cast<Recordings>(value ? bits | bit : bits & ~bit);
  };
  set(in_files_, part.file != nullptr);
  set(with_budget_, options.has_budget);
  if (part.file) is_ended_ = true, part.file->show_open_spans(open_spans_);  // a file's blocks are whole chunks
}

void Track::write_to_files() {
  each_recording(in_files_, [this](uint32_t recording) {
    Part &part = parts_[recording];
    part.file->add(*chunk_, top_, count());
    if (part.file->is_closed()) in_files_ &= static_cast<Recordings>(~(1u << recording));
  });
}

std::vector<std::shared_ptr<ThreadBlock>> Track::take_files() {
  std::vector<std::shared_ptr<ThreadBlock>> taken;
  for (Part &part : parts_)
    if (part.file) taken.push_back(std::move(part.file));
  in_files_ = 0;
  return taken;
}

void Track::settle() {
  if (const uint32_t written = chunk_ ? count() : 0; settled_ < written) {
    if (std::has_single_bit(current_)) {
      parts_[static_cast<uint32_t>(std::countr_zero(current_))].left -= written - settled_;
    } else {
      for (uint32_t i = settled_; i < written; ++i)
        each_recording(chunk_->event(i)->recordings, [&](uint32_t recording) { --parts_[recording].left; });
    }
    settled_ = written;
  }
  current_ = 0;
  room_ = 0;
}

// The caches describe one chunk, so they are emptied.
void Track::next_chunk(size_t words) {
  constexpr size_t kMost = Chunk::kTail - Chunk::first_word() - sizeof(Event) / sizeof(int64_t);
  const uint64_t first = chunk_ ? chunk_->first + count() : 0;
  if (!caches_) caches_ = std::make_unique<Caches>();
  auto fresh = Chunk::make(first, words > kMost ? words : 0);
  {
    std::scoped_lock lock(guard_);
    chunks_.push_back(fresh);
  }
  chunk_ = fresh.get();
  next_ = chunk_->event(0);
  top_ = static_cast<uint32_t>(Chunk::first_word());
  settled_ = 0;
  is_ended_ = false;
  last_ = {};
  *caches_ = {};
  each_recording(in_files_, [this](uint32_t recording) { parts_[recording].file->begin_chunk(); });
}

namespace {
size_t words_for(Args args) {
  size_t words = 0;
  for (const View &arg : args)
    if (const DLTensor *tensor = try_dltensor(arg)) words += 1 + static_cast<size_t>(tensor->ndim);
  return words;
}
}  // namespace

Event *Track::describe_slowly(Recordings recordings, Recordings all_calls, Args args, size_t call) {
  const size_t words = words_for(args);
  if (words == 0) recordings = all_calls;
  settle();
  const bool needs_chunk = !has_place() || free_words() < words;
  if (needs_chunk && with_budget_) keep_to_budgets(*this);
  uint64_t room = UINT32_MAX;
  Recordings full = 0;
  each_recording(recordings, [&](uint32_t recording) {
    if (parts_[recording].left > 0) room = std::min(room, parts_[recording].left);
    else full |= static_cast<Recordings>(1u << recording);
  });
  const auto drop = [&](Recordings from) {
    each_recording(from, [&](uint32_t recording) { parts_[recording].drop(); });
  };
  drop(full);
  const auto kept = static_cast<Recordings>(recordings & ~full);
  if (!kept) return nullptr;
  try {
    if (needs_chunk) next_chunk(words);
  } catch (const std::bad_alloc &) { return drop(kept), nullptr; }
  // While a recording is full, each call comes here to be counted.
  current_ = kept;
  room_ = full ? 1 : static_cast<uint32_t>(std::min<uint64_t>(room, std::max(events_that_fit(), 1u)));
  Event *const event = fill_anew(args, call);
  if (full) current_ = 0, event->recordings = kept;
  return event;
}

// Writes the words, and keeps them if they are new. If they do not fit, they go to the chunk's tail, which only its
// first event may use.
Event *Track::fill_anew(Args args, size_t call) {
  const size_t size = words_for(args);
  const bool is_large = free_words() < size;
  if (is_large && (count() > 0 || chunk_->tail_words < size)) return describe_slowly(current_, current_, args, call);
  // All state is in locals: the written words might alias members, so the loop would reload these.
  int64_t *word = chunk_->words() + (is_large ? Chunk::kTail : top_);
  uint32_t tensors = 0;
  DLDevice device{kDLCPU, 0};
  for (const View &arg : args) {
    const DLTensor *tensor = try_dltensor(arg);
    if (!tensor) continue;
    ++tensors;
    device = tensor->device;
    *word++ = pack_tensor(tensor->dtype, tensor->ndim);
    word = std::copy_n(tensor->shape, tensor->ndim, word);
  }
  if (is_large || !tensors) return describe_as(tensors, device, is_large ? Chunk::kTail : 0);
  last_ = caches_->calls[call % kKnown] = keep_words(size);
  return describe_as(tensors, device, last_.at);
}

// Keeps the words at top_, or returns equal ones that the chunk already has: many calls differ, but few have dimensions
// of their own.
Track::Known Track::keep_words(size_t size) {
  const int64_t *const words = chunk_->words();
  uint64_t hash = 0, factor = 0x9E3779B97F4A7C15u;  // independent products, which do not wait for each other
  for (size_t i = top_; i < top_ + size; ++i, factor += 0x2545F4914F6CDD1Eu)
    hash += static_cast<uint64_t>(words[i]) * factor;
  Known &kept = caches_->contents[hash >> 56];
  if (kept.size == size && std::equal(words + top_, words + top_ + size, words + kept.at)) return kept;
  kept = {top_, static_cast<uint32_t>(size)};
  top_ += static_cast<uint32_t>(size);
  room_ = std::min(room_, std::max(events_that_fit(), 1u));  // keeps a place for the event that is being written
  return kept;
}

Event *Track::attach(Event *event, const EventItems &items) {
  const std::span<const int64_t> given = items.words();
  if (given.empty()) return event;
  size_t at = top_;
  if (free_words() < given.size()) {
    const Event copy = *event;
    const std::span<const int64_t> shapes = shape_words(*event);
    const auto before = chunks_.back();  // keeps the shapes alive
    const Recordings current = current_;
    settle();
    next_chunk(shapes.size() + given.size());
    current_ = current;
    room_ = 1;
    event = next_;
    *event = copy;
    const bool is_large = free_words() < shapes.size() + given.size();
    int64_t *const words = chunk_->words();
    const size_t place = is_large ? Chunk::kTail : top_;
    std::copy(shapes.begin(), shapes.end(), words + place);
    event->shapes = static_cast<uint32_t>(place);
    at = place + shapes.size();
    if (!is_large) top_ += static_cast<uint32_t>(shapes.size());
  }
  std::copy(given.begin(), given.end(), chunk_->words() + at);
  event->items = static_cast<uint32_t>(at);
  if (at == top_) {
    top_ += static_cast<uint32_t>(given.size());
    room_ = std::min(room_, std::max(events_that_fit(), 1u));
  }
  return event;
}

void Track::add_run(const Event &run, const EventItems &items) noexcept try {
  settle();
  if (!has_place() && with_budget_) keep_to_budgets(*this);
  Recordings kept = 0;
  each_recording(run.recordings, [&](uint32_t recording) {
    Part &part = parts_[recording];
    if (part.runs_left == 0) part.drop();
    else --part.runs_left, kept |= static_cast<Recordings>(1u << recording);
  });
  if (!kept) return;
  if (!has_place()) next_chunk(items.words().size());
  *next_ = run;
  next_->recordings = kept;
  next_->num_tensors = next_->shapes = next_->items = 0;
  attach(next_, items);
  room_ = 1;
  commit();
  settled_ = count();  // runs take no room from calls
  settle();
} catch (const std::bad_alloc &) {}

uint64_t Track::num_events() {
  std::scoped_lock lock(guard_);
  return chunks_.empty() ? 0 : chunks_.back()->first + chunks_.back()->count.load(std::memory_order_acquire);
}

std::vector<std::shared_ptr<Chunk>> Track::chunks_from(uint64_t first) {
  std::scoped_lock lock(guard_);
  std::vector<std::shared_ptr<Chunk>> found;
  for (const auto &chunk : chunks_)
    if (chunk->first + chunk->count.load(std::memory_order_acquire) > first) found.push_back(chunk);
  return found;
}

size_t Track::num_chunks_from(uint64_t first) {
  std::scoped_lock lock(guard_);
  return static_cast<size_t>(std::ranges::count_if(chunks_, [first](const auto &chunk) {
    return chunk->first + chunk->count.load(std::memory_order_acquire) > first || chunk->first >= first;
  }));
}

std::pair<std::shared_ptr<Chunk>, uint64_t> Track::oldest_ended_chunk(uint64_t first) {
  std::scoped_lock lock(guard_);
  const size_t ended = chunks_.size() - (has_ended_ || is_lost() || chunks_.empty() ? 0 : 1);
  for (size_t i = 0; i < ended; ++i) {
    const uint32_t count = chunks_[i]->count.load(std::memory_order_acquire);
    const uint64_t next = chunks_[i]->first + count;
    if (count > 0 && next > first) return {chunks_[i], next};
  }
  return {};
}

void Track::drop_chunks_before(uint64_t first) noexcept {
  std::scoped_lock lock(guard_);
  size_t kept = 0;
  while (kept + 1 < chunks_.size() && chunks_[kept + 1]->first <= first) ++kept;
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(kept));
}

}  // namespace opd
