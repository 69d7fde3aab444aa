// The newest events of one thread, in a mapped block of a file (trace/file/event_block.h). Once the thread has
// published an event, the file has it, even if the process is killed. Cost of an event: copies of its 64 bytes and its
// words.
#pragma once
#include <atomic>
#include <memory>

#include "base/asymmetric_fence.h"
#include "base/fork_mutex.h"
#include "trace/file/event_block.h"
#include "trace/model/open_spans.h"

namespace opd {

class EventFile;

// A block of FILE.live. Readers may look at any time, and a kill may happen between any two stores.
class MappedBlock {
 public:
  MappedBlock(int file, uint64_t offset);  // the file must have the bytes. Throws OPD_IO
  ~MappedBlock();
  MappedBlock(const MappedBlock &) = delete;

  BlockHeader &header() { return *reinterpret_cast<BlockHeader *>(data_); }
  uint64_t *words() { return reinterpret_cast<uint64_t *>(data_); }
  Event *event(size_t i) { return reinterpret_cast<Event *>(data_ + kBlockBytes) - 1 - i; }
  // Writes the header of a block without events. If the block was in use before, it is invalid until this is complete.
  void begin(BlockHeader header);
  BlockState state() { return BlockState::of(std::atomic_ref(header().state).load(std::memory_order_acquire)); }
  void publish(BlockState state) { std::atomic_ref(header().state).store(state.packed(), std::memory_order_release); }
  // Called in a forked child: makes the block a private copy, so that the child does not write into its parent's file.
  void keep_private(int file) noexcept;

 private:
  char *data_;
  uint64_t offset_;
};

// begin_chunk(), add(), count_drop() and show_open_spans() are called only by the thread itself. They do nothing after
// the recording has ended.
class ThreadBlock {
 public:
  ThreadBlock(std::shared_ptr<EventFile> file, std::unique_ptr<MappedBlock> block, const ThreadRecord &thread);

  void begin_chunk();  // seals the current block; later events belong to the thread's next chunk
  // Adds the chunk's events up to `count`, and its words up to `top`.
  void add(const Chunk &chunk, uint32_t top, uint32_t count) {
    if (const Change change(*this); change.is_allowed()) add_open(chunk, top, count);
  }
  void count_drop(uint64_t count);
  void show_open_spans(const OpenSpans &spans);

  bool is_closed() const { return is_closed_.load(std::memory_order_relaxed); }
  void end_thread() noexcept;  // called by the thread at its exit: another thread may get the block afterwards
  // For another thread: call forbid_changes() and fence_all_threads(), then wait_for_change(), which returns when the
  // thread changes nothing more. Do not hold a lock in wait_for_change() that add() may take.
  void forbid_changes() { is_closed_.store(true, std::memory_order_relaxed); }
  bool is_changing() const { return is_changing_.load(std::memory_order_acquire) != 0; }
  void wait_for_change() const;
  // Seals the published events and ends the block. Called by the thread itself, or after wait_for_change().
  ThreadRecord close();
  std::unique_ptr<MappedBlock> take_block() { return std::move(block_); }  // called after end_thread()
  void keep_private(int file) noexcept { block_->keep_private(file); }

 private:
  // Marks that the thread changes the block while this object lives, unless the block was closed.
  class Change {
   public:
    explicit Change(ThreadBlock &block) : block_(block) { store_before_loads(block.is_changing_, 1); }
    ~Change() { block_.is_changing_.store(0, std::memory_order_release); }
    Change(const Change &) = delete;
    bool is_allowed() const { return !block_.is_closed(); }

   private:
    ThreadBlock &block_;
  };
  void add_open(const Chunk &chunk, uint32_t top, uint32_t count);
  void add_names_of(const Event &event);
  uint64_t seal();  // called under the guard; returns the number of events that the thread has made for the recording

  const std::shared_ptr<EventFile> file_;
  std::unique_ptr<MappedBlock> block_;
  std::atomic<bool> is_closed_{false};
  std::atomic<uint32_t> is_changing_{0};
  uint32_t top_ = kHeaderWords, count_ = 0;  // the block has the chunk's words up to top_, and its first count_ events
  ForkMutex guard_{LockRank::kThreadBlock};  // serialises sealing
};

}  // namespace opd
