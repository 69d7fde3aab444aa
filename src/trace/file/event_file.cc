#include "trace/file/event_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/bytes.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/loaded_objects.h"
#include "base/random_bytes.h"
#include "trace/file/periodic_flush.h"
#include "trace/model/trace.h"

namespace opd {

// All files that are being written. A forked child must not write into them.
struct EventFiles {
  ForkMutex guard{LockRank::kEventFiles};
  std::vector<EventFile *> all;

  static EventFiles &get() {
    static auto *files = [] {
      pthread_atfork(nullptr, nullptr, [] {
        // No locks are needed: fork() held them all, and the child has one thread.
        for (EventFile *file : get().all) file->become_private();
      });
      return new EventFiles;  // never destroyed: threads may record while the process exits
    }();
    return *files;
  }
  void add(EventFile *file) {
    std::scoped_lock lock(guard);
    all.push_back(file);
  }
  void remove(EventFile *file) {
    std::scoped_lock lock(guard);
    std::erase(all, file);
  }
};

namespace {

uint64_t random_id() {
  const auto id = draw_unique<uint64_t>();
  // A block of zeros has the id 0, so no recording may have it.
  return id ? id : 1;
}

template <size_t kSize>
void copy_text(char (&place)[kSize], const std::string &text) {
  const size_t size = std::min(text.size(), kSize - 1);
  std::memcpy(place, text.data(), size);
  std::memset(place + size, 0, kSize - size);
}

int open_regular(const std::string &path) {
  // No O_TRUNC: until the lock is held, the file may be another recording's. O_NONBLOCK: opening a device, which is
  // refused below, must not block.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) fail_errno("cannot open", path, errno);
  struct stat info {};
  if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode)) return file;
  ::close(file);
  fail(OPD_INVALID_ARGUMENT, path, " is not a regular file, so a recording cannot be kept in it");
}

void rename_file(const std::string &from, const std::string &to) {
  // The file is missing if a process that was killed between two renames had already moved it.
  if (::rename(from.c_str(), to.c_str()) && errno != ENOENT) fail_errno("cannot rename", from, errno);
}

// Whether the path still leads to the open file: other processes may rename and remove files at any time.
bool is_named(int file, const std::string &path) {
  struct stat mine {
  }, named{};
  return !::fstat(file, &mine) && !::stat(path.c_str(), &named) && mine.st_ino == named.st_ino &&
         mine.st_dev == named.st_dev;
}

uint64_t blocks_for(const EventFileOptions &options) {
  if (options.max_bytes == 0) return UINT64_MAX;
  return std::max<uint64_t>(options.max_bytes / kBlockBytes, 1);
}

}  // namespace

std::shared_ptr<EventFile> EventFile::create(const EventFileOptions &options) {
  auto file = std::make_shared<EventFile>(options);
  // Add the file before any thread uses it: a forked child must not write into a file that is not in the list.
  EventFiles::get().add(file.get());
  return file;
}

EventFile::EventFile(const EventFileOptions &options)
    : options_(options),
      live_path_(options.path + ".live"),
      id_(random_id()),
      most_blocks_(blocks_for(options)),
      failure_(options.path) {
  try {
    while (!open_live()) {}
    is_complete_ = true;  // if a later step fails, close() removes FILE.live, which has no events
    // FILE has its own lock, because another recording may be writing it by another name, such as a link.
    file_ = open_regular(options_.path);
    lock(file_, options_.path);
    header_ = add_block(BlockType::kRecording);
    // Truncate last: a recording that cannot begin, as on a full disk, keeps the earlier file.
    if (::ftruncate(file_, 0)) fail_errno("cannot empty", options_.path, errno);
    // Sync FILE.live first: if a thread seals a block between the two syncs, the second one includes it.
    if (const std::chrono::nanoseconds interval(options_.flush_interval_ns); interval.count() > 0)
      flush_ = std::make_unique<PeriodicFlush>(interval, std::vector{live_file_, file_}, failure_);
    is_complete_ = false;
  } catch (...) {
    close();
    throw;
  }
}

// A live file is touched only under its lock, which the recording process holds.
bool EventFile::open_live() {
  live_file_ = open_regular(live_path_);
  lock(live_file_, live_path_);
  const auto give_up = [&] { return ::close(std::exchange(live_file_, -1)), false; };
  if (!is_named(live_file_, live_path_)) return give_up();  // its writer removed it before the lock was released
  struct stat info {};
  if (::fstat(live_file_, &info) || info.st_size == 0) return true;
  // Rename FILE first: if this process is killed between the two renames, the next one completes the second.
  rename_file(options_.path, options_.path + ".crashed");
  rename_file(live_path_, options_.path + ".crashed.live");
  return give_up();
}

void EventFile::lock(int file, const std::string &path) const {
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail_errno("cannot lock", path, errno);
  fail(OPD_FAILED_PRECONDITION, "another recording is writing ", options_.path, "; it has locked ", path);
}

EventFile::~EventFile() {
  // Remove it from the list first: a thread that forks must not find blocks that are ending.
  EventFiles::get().remove(this);
  flush_.reset();
  close();
}

// Threads that have not recorded since still map blocks of the live file, which keeps the file open. Closing the
// descriptor would not end the lock, so it is released explicitly.
void EventFile::close() noexcept {
  // Else FILE.live is still needed. By now the path may lead to another recording's file.
  if (is_complete_ && live_file_ >= 0 && is_named(live_file_, live_path_)) ::unlink(live_path_.c_str());
  for (int *file : {&file_, &live_file_})
    if (*file >= 0) ::flock(*file, LOCK_UN), ::close(std::exchange(*file, -1));
}

void EventFile::become_private() noexcept {
  for (auto *blocks : {&records_, &free_})
    for (auto &block : *blocks) block->keep_private(live_file_);
  for (auto *texts : {&names_, &stacks_, &objects_})
    for (auto &pages : texts->pages) pages.first->keep_private(live_file_), pages.second->keep_private(live_file_);
  for (auto &thread : threads_) thread->keep_private(live_file_);
  header_->keep_private(live_file_);
  // Only close: LOCK_UN would end the parent's lock. If the parent is killed, the private mappings keep the lock until
  // this process ends.
  ::close(std::exchange(live_file_, -1));
  ::close(std::exchange(file_, -1));
}

void EventFile::begin(const EventFilter &events, uint64_t ticks) {
  events_ = events;
  began_ = ticks;
  const RecordingHeader header = describe();
  for (const size_t at : {size_t{0}, RecordingHeader::kSecondCopy})
    std::memcpy(reinterpret_cast<char *>(header_->words()) + at, &header, sizeof header);
  write_header(header);
  if (!options_.has_stacks) return;
  try {
    // Add the objects now, so that the addresses of stacks can be named after a kill, and again at the end.
    add_objects();
  } catch (const std::exception &) { note(ENOMEM); }
}

RecordingHeader EventFile::describe() const {
  RecordingHeader header{};
  const TraceProcess process = TraceProcess::of_this();
  const ClockCalibration line = ClockCalibration::measure(process.clock);
  header.magic = kBlockMagic;
  header.file_id = id_;
  header.type = BlockType::kRecording;
  header.version = RecordingHeader::kVersion;
  header.clock = process.clock;
  header.recordings = events_.recordings, header.runs_after = events_.runs_after;
  header.anchor_ticks = line.anchor.ticks, header.anchor_ns = line.anchor.ns, header.ns_per_tick = line.ns_per_tick;
  header.unix_offset_ns = process.unix_offset_ns;
  header.sample_interval = options_.sample_interval;
  header.has_memory = options_.has_memory, header.has_stacks = options_.has_stacks;
  header.began = began_;
  header.process_id = process.id;
  header.clock_error_ns = process.clock_error_ns;
  copy_text(header.process_name, process.name);
  copy_text(header.host, process.host);
  copy_text(header.clock_name, process.clock_name);
  header.checksum = checksum_of(header);
  return header;
}

// ---- FILE.live

std::unique_ptr<MappedBlock> EventFile::add_block(BlockType type) {
  const uint64_t offset = live_blocks_ * kBlockBytes;
  // Reserve disk space: without it, a store into the page would raise SIGBUS.
  const int error = may_write_file(offset + kBlockBytes)
                        ? ::posix_fallocate(live_file_, static_cast<off_t>(offset), kBlockBytes)
                        : EFBIG;
  if (error) note(error), fail_errno("cannot extend", live_path_, error);
  auto block = std::make_unique<MappedBlock>(live_file_, offset);
  ++live_blocks_;
  BlockHeader header{};
  header.file_id = id_;
  header.type = type;
  header.state = BlockState{0, kHeaderWords, 0}.packed();
  if (type != BlockType::kRecording) block->begin(header);
  return block;
}

std::shared_ptr<ThreadBlock> EventFile::begin_thread(int64_t thread_id, const std::string &thread_name) noexcept try {
  std::scoped_lock lock(guard_);
  if (is_finished_ || !is_of_this_process()) return nullptr;
  std::unique_ptr<MappedBlock> block;
  // Reuse blocks of ended threads: otherwise FILE.live would grow with each thread that a program starts.
  if (free_.empty()) block = add_block(BlockType::kEvents);
  else block = std::move(free_.back()), free_.pop_back();
  ThreadRecord thread{++last_track_, 0, 0, thread_id, {}};
  copy_text(thread.thread_name, thread_name);
  // Reserve room for all threads: end_thread() must not fail between writing the record and releasing the block.
  threads_.reserve(threads_.size() + 1);
  free_.reserve(free_.size() + threads_.size() + 1);
  threads_.push_back(std::make_shared<ThreadBlock>(shared_from_this(), std::move(block), thread));
  return threads_.back();
} catch (const std::exception &) {
  note(ENOMEM);  // unless add_block() has noted something else
  return nullptr;
}

// The record is written before the block is released to another thread. A reader that finds both counts the thread
// once.
void EventFile::end_thread(ThreadBlock &block) noexcept try {
  std::scoped_lock lock(guard_);
  const auto found = std::ranges::find(threads_, &block, [](const auto &thread) { return thread.get(); });
  if (found == threads_.end() || !is_of_this_process()) return;
  add_record(block.close());
  free_.push_back(block.take_block());
  threads_.erase(found);
} catch (const std::exception &) {
  note(ENOMEM);  // the block stays as it is
}

void EventFile::add_record(const ThreadRecord &record) {
  if (records_.empty() || records_.back()->state().count == kMostThreadRecords)
    records_.push_back(add_block(BlockType::kThreads));
  MappedBlock &block = *records_.back();
  BlockState state = block.state();
  constexpr auto kWords = static_cast<uint16_t>(sizeof record / sizeof(uint64_t));
  // Write the record before the count: a reader of the count finds the whole record, even after a kill.
  std::memcpy(block.words() + state.top, &record, sizeof record);
  state.top = static_cast<uint16_t>(state.top + kWords), ++state.count;
  block.publish(state);
}

void EventFile::add_names(NameId last) noexcept {
  std::scoped_lock lock(guard_);
  add_names_up_to(last);
}

void EventFile::add_names_up_to(NameId last) noexcept {
  for (NameId name = names_written_.load(std::memory_order_relaxed); name <= last; ++name) {
    try {
      constexpr size_t kMostBytes = 16 << 10;
      add_text(names_, name, cut_text(name_text(name), kMostBytes));
    } catch (const std::exception &) { note(ENOMEM); }  // a reader shows "?"
    // Advance also after a failure, which each later event would repeat otherwise. Release order is for has_name():
    // names of events in the file are already there.
    names_written_.store(name + 1, std::memory_order_release);
  }
}

void EventFile::add_stacks(StackId last) noexcept {
  std::scoped_lock lock(guard_);
  for (StackId stack = stacks_written_.load(std::memory_order_relaxed); stack <= last; ++stack) {
    try {
      add_stack(stack);
    } catch (const std::exception &) { note(ENOMEM); }  // a reader shows no stack
    stacks_written_.store(stack + 1, std::memory_order_release);
  }
}

void EventFile::add_stack(StackId stack) {
  const std::span<const uint64_t> frames = stack_frames(stack);
  // Write the names of the frames first: after a kill, every stack in the file has its names.
  for (const uint64_t frame : frames) {
    if (!is_language_frame(frame)) continue;
    const LanguageFrame named = unpack_frame(frame);
    for (const NameId name : {named.function, named.file})
      if (!has_name(name)) add_names_up_to(name);
  }
  add_text(stacks_, stack, {reinterpret_cast<const char *>(frames.data()), frames.size_bytes()});
}

void EventFile::add_objects() {
  uint32_t number = 0;
  for (const LoadedObject &object : loaded_objects()) {
    ByteWriter out;
    out.write(object.begin), out.write(object.end), out.write(object.base);
    out.write_string(object.build_id);
    out.write_bytes(object.path.data(), object.path.size());
    add_text(objects_, number++, out.take());
  }
}

void EventFile::add_text(Texts &texts, uint32_t number, std::string_view text) {
  const size_t words = 1 + (text.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  if (words > kBlockWords - kHeaderWords)
    fail(OPD_INTERNAL, "a text of ", text.size(), " bytes is too long for a block");
  auto &pages = texts.pages;
  if (pages.empty() || pages.back().first->state().top + words > kBlockWords) {
    pages.reserve(pages.size() + 1);
    // If there is room for only one block, it is not used: each text needs both copies.
    TextPages fresh{add_block(texts.type), add_block(texts.type)};
    pages.push_back(std::move(fresh));
  }
  const TextRecord record{static_cast<uint32_t>(text.size()), number};
  for (auto *block : {pages.back().first.get(), pages.back().second.get()}) {
    BlockState state = block->state();
    uint64_t *const place = block->words() + state.top;
    // Checksums cover whole words, so the padding of the last word is set.
    place[words - 1] = 0;
    std::memcpy(place, &record, sizeof record);
    if (!text.empty()) std::memcpy(place + 1, text.data(), text.size());
    state.top = static_cast<uint16_t>(state.top + words), ++state.count;
    block->publish(state);
  }
}

// Events after the end do not belong to the recording.
void EventFile::count_drop(uint64_t count) noexcept {
  if (is_finished_.load()) return;
  // The count is in the mapped block, so a kill does not lose it.
  std::atomic_ref(header_->words()[kOtherDropsWord]).fetch_add(count, std::memory_order_relaxed);
}

// ---- FILE

bool EventFile::write_at(uint64_t offset, const void *data, size_t size) noexcept {
  const auto *bytes = static_cast<const char *>(data);
  if (!may_write_file(offset + size)) return note(EFBIG), false;
  while (size > 0) {
    const ssize_t written = ::pwrite(file_, bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return note(written < 0 ? errno : EIO), false;
    bytes += written, offset += static_cast<uint64_t>(written), size -= static_cast<size_t>(written);
  }
  return true;
}

// The header is written last. Until then FILE has the header of an older block, whose checksum does not match, so the
// block counts as lost.
void EventFile::write_events(BlockHeader header, const uint64_t *words, const Event *last) noexcept {
  if (!is_of_this_process()) return;
  const uint64_t number = blocks_written_.fetch_add(1, std::memory_order_relaxed);
  // The number gives each thread its own place, without a lock. In a ring, a thread that is a whole round late may
  // write at the same time as the next owner of its place. The checksum then does not match, and the block counts as
  // lost.
  if (!options_.is_ring && number >= most_blocks_) return is_full_.store(true);
  const BlockState state = BlockState::of(header.state);
  // A block without events still writes one event's bytes, because FILE has whole blocks.
  const size_t num_words = state.top - kHeaderWords, events_size = std::max<size_t>(state.count, 1) * sizeof(Event);
  header.checksum = checksum_of(header, words, num_words, last, state.count);
  const uint64_t offset = (1 + number % most_blocks_) * kBlockBytes;
  if (write_at(offset + kBlockBytes - events_size, last, events_size) &&
      write_at(offset + sizeof header, words, num_words * sizeof(uint64_t)))
    write_at(offset, &header, sizeof header);
}

bool EventFile::write_whole(MappedBlock &block) noexcept {
  BlockHeader header = block.header();
  const BlockState state = block.state();
  header.checksum = checksum_of(header, block.words() + kHeaderWords, state.top - kHeaderWords, nullptr, 0);
  const uint64_t offset = tail_++ * kBlockBytes;
  return write_at(offset + sizeof header, block.words() + kHeaderWords, kBlockBytes - sizeof header) &&
         write_at(offset, &header, sizeof header);
}

bool EventFile::write_header(const RecordingHeader &header) noexcept {
  return write_at(0, &header, sizeof header) && write_at(RecordingHeader::kSecondCopy, &header, sizeof header) &&
         write_at(kBlockBytes - 1, "", 1);  // the bytes before it are zeros
}

// A thread that checked the recording just before its end may be about to write.
void EventFile::end_changes() noexcept {
  {
    std::scoped_lock lock(guard_);
    is_finished_ = true;
    for (const auto &thread : threads_) thread->forbid_changes();
  }
  // Pairs with ThreadBlock::Change: from here on, each thread has seen the end or is seen as changing.
  fence_all_threads();
  for (;;) {
    std::shared_ptr<ThreadBlock> changing;
    {
      std::scoped_lock lock(guard_);
      const auto found = std::ranges::find_if(threads_, [](const auto &thread) { return thread->is_changing(); });
      if (found == threads_.end()) return;
      changing = *found;
    }
    changing->wait_for_change();  // without the lock, which it may need
  }
}

// If there is no room for a thread's record, the thread keeps its block of FILE.live. The list is emptied all the same:
// its items own this object, so otherwise neither it nor its blocks on the full disk would be released.
bool EventFile::end_threads() noexcept {
  bool is_complete = true;
  for (const auto &thread : std::exchange(threads_, {})) {
    const ThreadRecord record = thread->close();
    try {
      add_record(record);
    } catch (const std::exception &) {
      note(ENOMEM);  // unless add_block() has noted something else
      is_complete = false;
    }
  }
  return is_complete;
}

// The order matters: first no thread changes anything, then all events are in FILE, then the names and records behind
// them, and last the header, which says whether all is there.
void EventFile::finish(uint64_t ended) noexcept {
  if (!is_of_this_process()) return;
  end_changes();
  complete(ended);
  failure_.end();  // without the lock, because a log callback runs
}

void EventFile::complete(uint64_t ended) noexcept try {
  flush_.reset();  // without the lock, because the disk may take long
  std::scoped_lock lock(guard_);
  bool is_complete = end_threads();
  tail_ = 1 + std::min(blocks_written_.load(), most_blocks_);
  // Write the objects anew, because libraries may have been loaded during the recording.
  if (options_.has_stacks) objects_.pages.clear(), add_objects();
  for (const auto *texts : {&names_, &stacks_, &objects_})
    for (const auto &pages : texts->pages)
      is_complete &= write_whole(*pages.first), is_complete &= write_whole(*pages.second);
  for (const auto &block : records_) is_complete &= write_whole(*block);
  RecordingHeader header = describe();
  header.is_finished = is_complete, header.ended = ended, header.num_blocks = static_cast<uint32_t>(tail_);
  header.other_drops = std::atomic_ref(header_->words()[kOtherDropsWord]).load(std::memory_order_relaxed);
  header.checksum = checksum_of(header);
  is_complete &= write_header(header);
  // EINVAL: the file system cannot sync files.
  if (::fdatasync(file_) && errno != EINVAL) note(errno), is_complete = false;
  is_complete_ = is_complete;
} catch (const std::exception &) { note(ENOMEM); }

}  // namespace opd
