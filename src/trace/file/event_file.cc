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
#include "base/cut_text.h"
#include "base/file.h"
#include "base/loaded_objects.h"
#include "base/random_bytes.h"
#include "trace/model/trace.h"

namespace opd {

// All files that are being written: a forked child must not write into them.
struct EventFiles {
  ForkMutex guard{LockRank::kEventFiles};
  std::vector<EventFile *> all;

  static EventFiles &get() {
    static auto *files = [] {
      pthread_atfork(nullptr, nullptr, [] {
        // Without locks: fork() held them all, and the child has one thread.
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
  // Without O_TRUNC: until the lock is held, the file may be another recording's. O_NONBLOCK: a device, which is
  // refused below, must not make the caller wait.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) fail_errno("cannot open", path, errno);
  struct stat info {};
  if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode)) return file;
  ::close(file);
  fail(OPD_INVALID_ARGUMENT, path, " is not a regular file, so a recording cannot be kept in it");
}

void rename_file(const std::string &from, const std::string &to) {
  // The file is missing if a process that was killed between two renames has moved it.
  if (::rename(from.c_str(), to.c_str()) && errno != ENOENT) fail_errno("cannot rename", from, errno);
}

// Whether the path still leads to the open file: other processes may rename and remove files meanwhile.
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
  // Before another thread has it, so that no child of fork() can write into a file that is not in the list.
  EventFiles::get().add(file.get());
  return file;
}

EventFile::EventFile(const EventFileOptions &options)
    : options_(options), live_path_(options.path + ".live"), id_(random_id()), most_blocks_(blocks_for(options)) {
  try {
    while (!open_live()) {}
    is_complete_ = true;  // if what follows fails, close() is to remove FILE.live, which has no events
    open_file();
    header_ = add_block(BlockType::kRecording);
    // Last, so that a recording that cannot begin, as on a full disk, leaves the earlier one.
    if (::ftruncate(file_, 0)) fail_errno("cannot empty", options_.path, errno);
    // First FILE.live: a block that a thread seals between the two is in FILE, then.
    if (const std::chrono::nanoseconds interval(options_.flush_interval_ns); interval.count() > 0)
      flush_ = std::make_unique<PeriodicFlush>(interval, std::vector{live_file_, file_});
    is_complete_ = false;
  } catch (...) {
    close();
    throw;
  }
}

// A live file is touched only under its lock: a process that is recording holds the lock.
bool EventFile::open_live() {
  live_file_ = open_regular(live_path_);
  lock(live_file_, live_path_);
  const auto give_up = [&] { return ::close(std::exchange(live_file_, -1)), false; };
  if (!is_named(live_file_, live_path_)) return give_up();  // its writer removed it before the lock was released
  struct stat info {};
  if (::fstat(live_file_, &info) || info.st_size == 0) return true;
  move_crashed();
  return give_up();
}

void EventFile::lock(int file, const std::string &path) const {
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail_errno("cannot lock", path, errno);
  fail(OPD_FAILED_PRECONDITION, "another recording is writing ", options_.path, "; it has locked ", path);
}

// First FILE: if this process is killed between the two, the next one moves the rest.
void EventFile::move_crashed() {
  rename_file(options_.path, options_.path + ".crashed");
  rename_file(live_path_, options_.path + ".crashed.live");
}

// FILE has a lock of its own: by another name, such as that of a link, another recording may be writing it.
void EventFile::open_file() {
  file_ = open_regular(options_.path);
  lock(file_, options_.path);
}

EventFile::~EventFile() {
  // First: another thread that forks must not find blocks that are ending.
  EventFiles::get().remove(this);
  flush_.reset();
  close();
}

// Threads that have not recorded since still map blocks of the live file, which keeps it open. So the lock is released
// by itself: it would not end with the descriptor.
void EventFile::close() noexcept {
  if (is_complete_) remove_live();  // else FILE.live is still needed
  for (int *file : {&file_, &live_file_})
    if (*file >= 0) ::flock(*file, LOCK_UN), ::close(std::exchange(*file, -1));
}

// The name may be that of another recording's file by now.
void EventFile::remove_live() noexcept {
  if (live_file_ >= 0 && is_named(live_file_, live_path_)) ::unlink(live_path_.c_str());
}

void EventFile::become_private() noexcept {
  for (auto *blocks : {&records_, &free_})
    for (auto &block : *blocks) block->keep_private(live_file_);
  for (auto *texts : {&names_, &stacks_, &objects_})
    for (auto &pages : texts->pages) pages.first->keep_private(live_file_), pages.second->keep_private(live_file_);
  for (auto &thread : threads_) thread->keep_private(live_file_);
  header_->keep_private(live_file_);
  // Closed only: LOCK_UN would end the parent's lock. If the parent is killed, the private mappings keep the lock until
  // this process ends.
  ::close(std::exchange(live_file_, -1));
  ::close(std::exchange(file_, -1));
}

void EventFile::begin(Recordings recordings, uint64_t ticks) {
  recordings_ = recordings;
  began_ = ticks;
  const RecordingHeader header = describe();
  for (const size_t at : {size_t{0}, RecordingHeader::kSecondCopy})
    std::memcpy(reinterpret_cast<char *>(header_->words()) + at, &header, sizeof header);
  write_header(header);
  if (!options_.has_stacks) return;
  try {
    // Already now, so that the addresses of stacks can be named after a kill; and again at the end.
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
  header.recordings = recordings_;
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
  // Room on the disk: a store into a page without it would be a SIGBUS.
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
  // Blocks of threads that have ended are used again: else FILE.live would grow with each thread that a program starts.
  if (free_.empty()) block = add_block(BlockType::kEvents);
  else block = std::move(free_.back()), free_.pop_back();
  ThreadRecord thread{++last_track_, 0, 0, thread_id, {}};
  copy_text(thread.thread_name, thread_name);
  // Room in `free_` for all threads: end_thread() must not fail between a thread's record and the end of its block.
  threads_.reserve(threads_.size() + 1);
  free_.reserve(free_.size() + threads_.size() + 1);
  threads_.push_back(std::make_shared<ThreadBlock>(shared_from_this(), std::move(block), thread));
  return threads_.back();
} catch (const std::exception &) {
  note(ENOMEM);  // unless add_block() has noted something else
  return nullptr;
}

// First the record, then the block may be another thread's: a reader that finds both takes the thread once.
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
  // First the record, then the count: who reads the count, also after a kill, finds the record whole.
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
      add_name(name);
    } catch (const std::exception &) { note(ENOMEM); }  // a reader shows "?"
    // Also after a failure, which each further event would repeat otherwise. Released for has_name(): an event in the
    // file has its name there.
    names_written_.store(name + 1, std::memory_order_release);
  }
}

void EventFile::add_name(NameId name) {
  constexpr size_t kMostBytes = 16 << 10;
  add_text(names_, name, cut_text(name_text(name), kMostBytes));
}

void EventFile::add_stacks(StackId last) noexcept {
  std::scoped_lock lock(guard_);
  for (StackId stack = stacks_written_.load(std::memory_order_relaxed); stack <= last; ++stack) {
    try {
      add_stack(stack);
    } catch (const std::exception &) { note(ENOMEM); }  // a reader shows none
    stacks_written_.store(stack + 1, std::memory_order_release);
  }
}

void EventFile::add_stack(StackId stack) {
  const std::span<const uint64_t> frames = stack_frames(stack);
  // First the names of the frames: no kill leaves a stack in the file whose names are missing.
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
    // If there is room for one block only, it is not used: each text must have its copy.
    TextPages fresh{add_block(texts.type), add_block(texts.type)};
    pages.push_back(std::move(fresh));
  }
  const TextRecord record{static_cast<uint32_t>(text.size()), number};
  for (auto *block : {pages.back().first.get(), pages.back().second.get()}) {
    BlockState state = block->state();
    uint64_t *const place = block->words() + state.top;
    // Checksums are of whole words, so the rest of the last one must be known.
    place[words - 1] = 0;
    std::memcpy(place, &record, sizeof record);
    if (!text.empty()) std::memcpy(place + 1, text.data(), text.size());
    state.top = static_cast<uint16_t>(state.top + words), ++state.count;
    block->publish(state);
  }
}

// Events after the end are no part of the recording.
void EventFile::count_drop(uint64_t count) noexcept {
  if (is_finished_.load()) return;
  // In the mapped block, so that a kill does not lose the number.
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

// The header last: while the one in FILE is an older block's, its checksum does not fit, so it counts as lost.
void EventFile::write_events(BlockHeader header, const uint64_t *words, const Event *last) noexcept {
  if (!is_of_this_process()) return;
  const uint64_t number = blocks_written_.fetch_add(1, std::memory_order_relaxed);
  // The number gives each thread a place of its own, without a lock. In a ring, a thread that is a whole round late may
  // write together with the next owner of its place: the checksum then does not fit, and the block counts as lost.
  if (!options_.is_ring && number >= most_blocks_) return is_full_.store(true);
  const BlockState state = BlockState::of(header.state);
  // A block without events writes the place of one all the same, since FILE has whole blocks.
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
         write_at(kBlockBytes - 1, "", 1);  // what lies before it is zeros
}

// A thread that looked whether the recording runs just before it ended may be about to write.
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

// A thread for whose record there is no room stays in its block of FILE.live. The list is emptied all the same: its
// items hold this object, so neither it nor its blocks on the full disk would ever be released.
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

// In this order: no thread changes anything, all events are in FILE, then the names and records behind them, and last
// the header that says whether all is there.
void EventFile::finish(uint64_t ended) noexcept try {
  if (!is_of_this_process()) return;
  end_changes();
  if (flush_ && flush_->error()) note(flush_->error());
  flush_.reset();  // without the lock: the disk may take long
  std::scoped_lock lock(guard_);
  bool is_complete = end_threads();
  tail_ = 1 + std::min(blocks_written_.load(), most_blocks_);
  // Anew, since libraries may have been loaded meanwhile.
  if (options_.has_stacks) objects_.pages.clear(), add_objects();
  for (const auto *texts : {&names_, &stacks_, &objects_})
    for (const auto &pages : texts->pages)
      is_complete &= write_whole(*pages.first), is_complete &= write_whole(*pages.second);
  for (const auto &block : records_) is_complete &= write_whole(*block);
  RecordingHeader header = describe();
  header.is_finished = is_complete, header.ended = ended;
  header.other_drops = std::atomic_ref(header_->words()[kOtherDropsWord]).load(std::memory_order_relaxed);
  header.checksum = checksum_of(header);
  is_complete &= write_header(header);
  // EINVAL: the file system cannot sync files.
  if (::fdatasync(file_) && errno != EINVAL) note(errno), is_complete = false;
  is_complete_ = is_complete;
} catch (const std::exception &) { note(ENOMEM); }

void EventFile::note(int error_number) noexcept {
  // Only the first error is kept: later ones mostly follow from it.
  int none = 0;
  error_.compare_exchange_strong(none, error_number);
}

std::string EventFile::problem() const {
  if (const int error = error_.load()) return concat(options_.path, ": ", error_text(error));
  return is_full_.load() ? concat(options_.path, " has its ", options_.max_bytes, " bytes") : "";
}

}  // namespace opd
