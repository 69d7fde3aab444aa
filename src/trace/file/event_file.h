// Writes a recording to FILE while it goes on, and reads such files. trace/file/event_block.h describes the format.
// Each thread writes its own events into its block of FILE.live, and copies each full block to FILE.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/object.h"
#include "base/static_guard.h"
#include "trace/file/thread_block.h"
#include "trace/file/write_failure.h"

namespace opd {

struct EventFileOptions {
  std::string path;
  bool is_ring = false;    // true: new blocks of FILE overwrite the oldest ones; false: no more are written
  uint64_t max_bytes = 0;  // limit for the blocks of events in FILE; 0: no limit
  uint64_t sample_interval = 1;
  bool has_memory = false, has_stacks = false;
  uint64_t flush_interval_ns = 0;  // interval of syncs to the disk; 0: the system decides
};

class PeriodicFlush;
struct Trace;
struct TraceParts;

// Thread-safe.
class EventFile : public std::enable_shared_from_this<EventFile> {
 public:
  // Throws OPD_FAILED_PRECONDITION if another recording writes the file, OPD_INVALID_ARGUMENT if the path is not a
  // regular file, OPD_IO. Files of a process that died are renamed to FILE.crashed and FILE.crashed.live.
  static std::shared_ptr<EventFile> create(const EventFileOptions &options);
  explicit EventFile(const EventFileOptions &options);  // called by create()
  ~EventFile();                                         // if finish() was not called, the files stay as after a crash
  EventFile(const EventFile &) = delete;

  void begin(const EventFilter &events,
             uint64_t ticks);  // `ticks`: start of the recording; called before threads record
  // Returns a block for the calling thread; null if the file has no room for it.
  std::shared_ptr<ThreadBlock> begin_thread(int64_t thread_id, const std::string &thread_name) noexcept;
  void end_thread(ThreadBlock &block) noexcept;  // called by the thread
  void count_drop(uint64_t count) noexcept;      // counts events of a thread without a block
  // Seals all blocks and completes FILE. Call it once, and not from a thread that is inside add_event().
  void finish(uint64_t ended) noexcept;
  // Removes FILE.live, and lets other recordings write FILE. Call it after finish(), when no thread reads the files.
  // Threads may hold the object until they record again.
  void close() noexcept;
  int error() const { return failure_.error(); }       // errno of the first failed write; 0: none
  bool has_reached_limit() const { return is_full_; }  // events were left out because of max_bytes

  // False in a forked child: the child has the object, but the files are its parent's.
  bool is_of_this_process() const { return generation_ == fork_generation(); }
  int file() const { return file_; }
  int live_file() const { return live_file_; }
  const std::string &path() const { return options_.path; }

  // The members below are for blocks of threads.
  uint64_t id() const { return id_; }
  const EventFilter &events() const { return events_; }
  bool has_name(NameId name) const {
    return name < names_written_.load(std::memory_order_acquire) || name >= kMostNames;
  }
  void add_names(NameId last) noexcept;  // adds all names up to this one
  bool has_stack(StackId stack) const {
    return stack < stacks_written_.load(std::memory_order_acquire) || stack >= kMostStacks;
  }
  void add_stacks(StackId last) noexcept;
  void write_events(BlockHeader header, const uint64_t *words, const Event *last) noexcept;

 private:
  friend struct EventFiles;
  struct TextPages {
    std::unique_ptr<MappedBlock> first, second;  // equal copies
  };
  struct Texts {
    BlockType type;
    std::vector<TextPages> pages{};
  };
  bool open_live();  // false: try again
  void lock(int file, const std::string &path) const;
  RecordingHeader describe() const;
  void end_changes() noexcept;                             // waits for all threads
  void complete(uint64_t ended) noexcept;                  // writes what is left of FILE
  std::unique_ptr<MappedBlock> add_block(BlockType type);  // adds a block to FILE.live
  void add_text(Texts &texts, uint32_t number, std::string_view text);
  void add_names_up_to(NameId last) noexcept;  // this function and those below are called under the lock
  void add_stack(StackId stack);
  void add_objects();
  void add_record(const ThreadRecord &record);
  bool end_threads() noexcept;                    // whether all threads have a record
  bool write_whole(MappedBlock &block) noexcept;  // writes the block after the events
  bool write_header(const RecordingHeader &header) noexcept;
  bool write_at(uint64_t offset, const void *data, size_t size) noexcept;
  void note(int error_number) noexcept { failure_.note(error_number, events_.recordings && !is_finished_); }
  void become_private() noexcept;  // called in a forked child

  const EventFileOptions options_;
  const std::string live_path_;
  const uint32_t generation_ = fork_generation();
  const uint64_t id_;
  const uint64_t most_blocks_;  // limit for blocks of events
  int file_ = -1, live_file_ = -1;
  EventFilter events_{};
  uint64_t began_ = 0;
  std::atomic<uint64_t> blocks_written_{0};  // blocks of events, including overwritten and failed ones
  std::atomic<NameId> names_written_{0};
  std::atomic<StackId> stacks_written_{1};  // stack ids start at 1
  WriteFailure failure_;
  std::atomic<bool> is_full_{false};
  std::atomic<bool> is_finished_{false};  // set under the lock; from then on no thread gets a block

  ForkMutex guard_{LockRank::kEventFile};
  bool is_complete_ = false;  // FILE.live is not needed any more
  uint64_t live_blocks_ = 0;  // number of blocks in FILE.live
  uint64_t tail_ = 0;         // number of the block after the events, once all are sealed
  uint32_t last_track_ = 0;
  std::unique_ptr<MappedBlock> header_;
  Texts names_{BlockType::kNames}, stacks_{BlockType::kStacks}, objects_{BlockType::kObjects};
  std::vector<std::unique_ptr<MappedBlock>> records_, free_;
  std::vector<std::shared_ptr<ThreadBlock>> threads_;
  std::unique_ptr<PeriodicFlush> flush_;  // null after the end of the recording
};

// ---- reading files of events: finished ones, files that a process is still writing, and files of killed processes

// Reads PATH, and PATH.live if it exists. Damaged blocks and invalid events are counted as dropped. Throws
// OPD_NOT_FOUND, OPD_IO, or OPD_BAD_FORMAT if the recording's description is missing.
Ref<Trace> read_event_file(const std::string &path);
TraceParts read_event_file(const EventFile &file);  // reads a file that this process writes

}  // namespace opd
