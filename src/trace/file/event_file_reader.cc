// Reads files of events: finished ones, files that a process is still writing, and files of killed processes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/log.h"
#include "trace/file/event_check.h"
#include "trace/file/event_file.h"
#include "trace/model/trace.h"

namespace opd {
namespace {

// A copy of a block, aligned as events are.
struct Block {
  alignas(64) char bytes[kBlockBytes];
  BlockHeader header() const {
    BlockHeader header;
    std::memcpy(&header, bytes, sizeof header);
    return header;
  }
  const char *words() const { return bytes + sizeof(BlockHeader); }
  const char *events(size_t count) const { return bytes + kBlockBytes - count * sizeof(Event); }
};

struct EventBlock {
  BlockHeader header;
  std::shared_ptr<Chunk> chunk;
  uint64_t made;  // events that the thread had made for the recording, including this block's
  BlockState state() const { return BlockState::of(header.state); }
};

// The facts about one thread that were read so far.
struct Thread {
  int64_t id = 0;
  std::string name;
  uint64_t produced = 0, dropped = 0;
  std::map<uint32_t, EventBlock> blocks;  // key: number of the block on the thread
};

bool is_regular(int file) {
  struct stat info {};
  return ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
}

bool read_at(int file, uint64_t offset, char *place, size_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(file, place, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    place += got, offset += static_cast<uint64_t>(got), size -= static_cast<size_t>(got);
  }
  return true;
}

std::string text_of(const char *text, size_t size) { return {text, ::strnlen(text, size)}; }

// Returns whether a span with this begin has ended. Events are in the order of their ends.
bool has_ended(const std::vector<const Event *> &events, uint64_t begin) {
  for (auto at = events.rbegin(); at != events.rend() && (*at)->end >= begin; ++at)
    if ((*at)->begin == begin) return true;
  return false;
}

class Reader {
 public:
  Reader(int file, int live, std::string path) : file_(file), live_(live), path_(std::move(path)) {}

  TraceParts read() {
    if (file_ >= 0) read_header(file_);
    if (live_ >= 0 && !header_) read_header(live_);
    if (!header_)
      fail(OPD_BAD_FORMAT, path_, " is not a recording: ",
           is_regular(file_ >= 0 ? file_ : live_) ? "none of its blocks says what was recorded"
                                                  : "it is not a regular file");
    // FILE.live is read first: if the recording goes on and a thread seals a block between the two reads, FILE has it.
    if (live_ >= 0) read_blocks(live_, Part::kAll);
    if (file_ >= 0) read_blocks(file_, Part::kAll);
    if (live_ >= 0 && file_ >= 0 && lacks_blocks()) read_blocks(file_, Part::kOlderEvents);
    // The names in FILE may be newer than the events that were read from FILE.live, so texts are read again. The
    // records of ended threads must not be newer: the last events of these threads would count as lost.
    if (live_ >= 0) read_blocks(live_, Part::kTexts);
    if (file_ >= 0) check_size();
    return make_parts();
  }

 private:
  // The blocks of names and counts come last, so a part of the file may not even show that something is missing.
  void check_size() const {
    const auto size = static_cast<uint64_t>(std::max<off_t>(0, ::lseek(file_, 0, SEEK_END)));
    const uint64_t whole = header_->num_blocks * kBlockBytes;
    if (header_->is_finished && size < whole)
      log_warning(path_, " is cut short: it has ", size, " of ", whole, " bytes, so events and names are missing");
  }

  enum class Part : uint8_t {
    kAll,
    kTexts,
    kOlderEvents  // blocks of events that are older than the newest known one of their thread
  };
  // If a thread begins a new block during the read, the state differs, and the block is read again. Events that were
  // published before the first read do not change.
  bool read_block(int file, uint64_t offset, Block &block) const {
    for (int tries = 0; tries < 100; ++tries) {
      BlockHeader before, after;
      if (!read_at(file, offset, reinterpret_cast<char *>(&before), sizeof before) ||
          !read_at(file, offset, block.bytes, kBlockBytes) ||
          !read_at(file, offset, reinterpret_cast<char *>(&after), sizeof after))
        return false;
      if (before.magic != after.magic || before.track != after.track ||
          BlockState::of(before.state).sequence != BlockState::of(after.state).sequence)
        continue;
      for (size_t i = 0; i < kMostOpenSpans; ++i)
        if (std::memcmp(&before.open_spans[i], &after.open_spans[i], sizeof before.open_spans[i]) != 0)
          before.open_spans[i].begin = 0;
      std::memcpy(block.bytes, &before, sizeof before);
      return true;
    }
    return false;
  }

  void read_header(int file) {
    for (const size_t at : {size_t{0}, RecordingHeader::kSecondCopy}) {
      RecordingHeader header;
      if (!read_at(file, at, reinterpret_cast<char *>(&header), sizeof header)) return;
      if (header.magic != kBlockMagic || header.checksum != checksum_of(header)) continue;
      if (header.version != RecordingHeader::kVersion)
        fail(OPD_BAD_FORMAT, path_, " has version ", header.version, " of the format, but only ",
             RecordingHeader::kVersion, " is supported");
      constexpr int64_t kLeastNs = -1'000'000'000'000'000'000, kMostNs = 3'000'000'000'000'000'000;
      const bool is_sane = header.type == BlockType::kRecording && std::has_single_bit(header.recordings) &&
                           header.recordings <= UINT16_MAX && header.ns_per_tick > 0 && header.ns_per_tick <= 1e6 &&
                           (header.clock == ClockId::kMonotonic || header.clock == ClockId::kTsc) &&
                           header.unix_offset_ns > kLeastNs && header.unix_offset_ns < kMostNs &&
                           header.anchor_ns < uint64_t{1'000'000'000'000'000'000};
      line_ = {{header.anchor_ticks, header.anchor_ns}, header.ns_per_tick};
      if (!is_sane || !is_moment(line_, header.began) || (header.ended && !is_moment(line_, header.ended)))
        fail(OPD_BAD_FORMAT, path_, ": the description of the recording at offset ", at, " cannot be");
      header_ = header;
      other_drops_ = header.other_drops;
      return;
    }
  }

  // Holes are skipped, because a file of a few bytes may claim any size.
  void read_blocks(int file, Part part) {
    const auto block = std::make_unique<Block>();
    for (uint64_t offset = 0;;) {
      const off_t data = ::lseek(file, static_cast<off_t>(offset), SEEK_DATA);
      if (data >= 0) offset = static_cast<uint64_t>(data) / kBlockBytes * kBlockBytes;
      else if (errno == ENXIO) return;
      if (!read_block(file, offset, *block)) {
        if (::lseek(file, 0, SEEK_END) < static_cast<off_t>(offset + kBlockBytes)) return;
      } else if (block->header().magic == kBlockMagic && block->header().file_id == header_->file_id) {
        if (is_wanted(block->header(), part)) take(*block, file == live_);
      }
      offset += kBlockBytes;
    }
  }

  bool is_wanted(const BlockHeader &header, Part part) const {
    const auto is_older = [&] {
      const auto thread = threads_.find(header.track);
      return thread != threads_.end() && !thread->second.blocks.empty() &&
             BlockState::of(header.state).sequence < thread->second.blocks.rbegin()->first;
    };
    if (part == Part::kTexts)
      return header.type == BlockType::kNames || header.type == BlockType::kStacks ||
             header.type == BlockType::kObjects;
    return part == Part::kAll || (header.type == BlockType::kEvents && is_older());
  }

  // Several threads write into FILE. So an older block of a thread may be written after its place was read, and a newer
  // one before its place is read. Then the older block is missing, or only its part in FILE.live was read.
  bool lacks_blocks() const {
    return std::ranges::any_of(threads_, [](const auto &thread) {
      uint32_t next = 0;
      return std::ranges::any_of(thread.second.blocks, [&](const auto &block) {
        const bool is_part = block.second.header.checksum == 0 && block.first != thread.second.blocks.rbegin()->first;
        return block.first != next++ || is_part;
      });
    });
  }

  void take(const Block &block, bool is_live) {
    const BlockHeader header = block.header();
    const BlockState state = BlockState::of(header.state);
    if (header.type == BlockType::kRecording) {
      if (is_live) std::memcpy(&other_drops_, block.bytes + kOtherDropsWord * sizeof(uint64_t), sizeof other_drops_);
      return;
    }
    const size_t num_events = header.type == BlockType::kEvents ? state.count : 0;
    if (state.top < kHeaderWords || state.top * sizeof(uint64_t) + num_events * sizeof(Event) > kBlockBytes) return;
    const bool is_sealed = header.checksum != 0;
    if (is_sealed ? header.checksum != checksum_of(header, block.words(), state.top - kHeaderWords,
                                                   block.events(num_events), num_events)
                  : !is_live)
      return;
    switch (header.type) {
      case BlockType::kEvents:
        return take_events(block, header);
      case BlockType::kNames:
      case BlockType::kStacks:
      case BlockType::kObjects:
        return take_texts(block, header.type, state.top * sizeof(uint64_t));
      case BlockType::kThreads:
        return take_threads(block, state.count);
      default:
        return;
    }
  }

  // While a thread seals a block, both files have it.
  void take_events(const Block &block, const BlockHeader &header) {
    const BlockState state = BlockState::of(header.state);
    Thread &thread = threads_[header.track];
    thread.id = header.thread_id;
    thread.name = text_of(header.thread_name, sizeof header.thread_name);
    thread.dropped = std::max(thread.dropped, header.dropped);
    if (const auto known = thread.blocks.find(state.sequence); known != thread.blocks.end()) {
      if (header.checksum == 0 || known->second.header.checksum != 0) return;
      thread.blocks.erase(known);  // this copy was read before the block was sealed
    }
    auto chunk = Chunk::make(0);
    const size_t front = (state.top - kHeaderWords) * sizeof(uint64_t), back = state.count * sizeof(Event);
    std::memcpy(chunk->words() + kHeaderWords, block.words(), front);
    if (back) std::memcpy(static_cast<void *>(chunk->event(state.count - 1u)), block.events(state.count), back);
    uint64_t made = header.produced[state.sequence % 2];
    for (uint32_t i = 0; i < state.count; ++i) made += events().takes(*chunk->event(i));
    thread.produced = std::max(thread.produced, made);
    chunk->count.store(state.count);
    thread.blocks.emplace(state.sequence, EventBlock{header, std::move(chunk), made});
  }

  void take_texts(const Block &block, BlockType type, size_t end) {
    for (size_t at = sizeof(BlockHeader); at < end;) {
      TextRecord record;
      std::memcpy(&record, block.bytes + at, sizeof record);
      at += sizeof record;
      if (record.size > end - at) return;
      const std::string_view text(block.bytes + at, record.size);
      if (type == BlockType::kStacks) take_stack(record.number, text);
      else if (type == BlockType::kObjects) take_object(record.number, text);
      else if (!numbers_.names.contains(record.number)) numbers_.names.emplace(record.number, name_id(text));
      at += (record.size + sizeof record - 1) / sizeof record * sizeof record;
    }
  }

  void take_stack(uint32_t number, std::string_view bytes) {
    std::vector<uint64_t> frames(bytes.size() / sizeof(uint64_t));
    if (!frames.empty()) std::memcpy(frames.data(), bytes.data(), frames.size() * sizeof(uint64_t));
    stacks_.try_emplace(number, std::move(frames));
  }

  void take_object(uint32_t number, std::string_view bytes) try {
    ByteReader in(as_bytes(bytes), "an object");
    LoadedObject object;
    object.begin = in.read<uint64_t>("begin"), object.end = in.read<uint64_t>("end"),
    object.base = in.read<uint64_t>("base");
    object.build_id = in.read_string("build id");
    object.path = as_text(in.take(in.remaining(), "path"));
    objects_.try_emplace(number, std::move(object));
  } catch (const Exception &) {}  // a damaged object: its functions have no names

  // Called when all names are known.
  void number_stacks() {
    for (auto &[number, frames] : stacks_) {
      for (uint64_t &frame : frames) {
        if (!is_language_frame(frame)) continue;
        const LanguageFrame named = unpack_frame(frame);
        frame = pack_frame({numbers_.name(named.function), numbers_.name(named.file), named.line});
      }
      numbers_.stacks.emplace(number, stack_id(frames));
    }
  }

  void take_threads(const Block &block, uint16_t count) {
    for (size_t i = 0; i < std::min<size_t>(count, kMostThreadRecords); ++i) {
      ThreadRecord record;
      std::memcpy(&record, block.words() + i * sizeof record, sizeof record);
      Thread &thread = threads_[static_cast<uint32_t>(record.track)];
      thread.id = record.thread_id;
      thread.name = text_of(record.thread_name, sizeof record.thread_name);
      thread.produced = std::max(thread.produced, record.produced);
      thread.dropped = std::max(thread.dropped, record.dropped);
    }
  }

  EventFilter events() const { return {static_cast<Recordings>(header_->recordings), header_->runs_after}; }

  TraceProcess make_process() {
    TraceProcess process;
    process.id = header_->process_id;
    process.name = text_of(header_->process_name, sizeof header_->process_name);
    process.host = text_of(header_->host, sizeof header_->host);
    process.clock_name = text_of(header_->clock_name, sizeof header_->clock_name);
    process.clock_error_ns = std::max<int64_t>(header_->clock_error_ns, -1);
    process.clock = header_->clock;
    process.line = line_;
    process.unix_offset_ns = header_->unix_offset_ns;
    process.recording = header_->file_id;
    process.recordings = static_cast<Recordings>(header_->recordings);
    process.sample_interval = header_->sample_interval;
    for (auto &[number, object] : objects_) process.objects.push_back(std::move(object));
    std::ranges::sort(process.objects, {}, &LoadedObject::begin);
    return process;
  }

  TraceParts make_parts() {
    TraceParts parts;
    parts.has_memory = header_->has_memory != 0;
    parts.has_stacks = header_->has_stacks != 0;
    parts.processes[0] = make_process();
    number_stacks();
    if (!header_->is_finished) parts.metadata.emplace_back("recovered", "1");
    for (auto &[number, thread] : threads_) add_thread(parts, thread);
    if (header_->is_finished) end_ = header_->ended;
    size_t i = 0;
    for (const auto &[number, thread] : threads_) add_open(parts.tracks[i++], thread);
    parts.finish_tracks("threads without room", other_drops_);
    return parts;
  }

  void add_thread(TraceParts &parts, Thread &thread) {
    TraceTrack &track = parts.tracks.emplace_back();
    track.thread_id = thread.id;
    track.thread_name = thread.name;
    uint64_t kept = 0, first = 0;
    for (auto &[sequence, block] : thread.blocks) {
      Chunk &chunk = *block.chunk;
      EventCheck check(numbers_, line_, chunk, block.state().top);
      for (uint32_t i = 0; i < block.state().count; ++i) {
        Event &event = *chunk.event(i);
        if (!events().takes(event)) continue;
        if (check.repair(event)) ++kept, end_ = std::max(end_, event.end);
        else event.recordings = 0;
      }
      chunk.first = first;
      first += block.state().count;
      track.add_events({block.chunk}, chunk.first, events());
    }
    track.dropped = thread.dropped + (thread.produced > kept ? thread.produced - kept : 0);
  }

  // The open spans are in the thread's newest block. They show what the thread was doing at a kill or at the end of the
  // recording.
  void add_open(TraceTrack &track, const Thread &thread) const {
    if (thread.blocks.empty()) return;
    const EventBlock &newest = thread.blocks.rbegin()->second;
    const BlockHeader &header = newest.header;
    if (thread.produced > newest.made || thread.dropped > header.dropped)
      return;  // there was no room for a newer block
    std::vector<Event> open;
    for (size_t i = 0; i < std::min<uint64_t>(header.num_open_spans, kMostOpenSpans); ++i) {
      const OpenSpanRecord &span = header.open_spans[i];
      const auto kind = static_cast<EventKind>(span.what.kind());
      if (span.begin < header_->began || !is_moment(line_, span.begin) ||
          (kind != EventKind::kRun && kind != EventKind::kRange))
        continue;
      if (has_ended(track.list_of(kind), span.begin)) continue;
      Event &event = open.emplace_back();
      event.begin = span.begin, event.end = std::max(end_, span.begin);
      event.name = numbers_.name(span.what.name()), event.stack = numbers_.stack(span.what.stack());
      event.kind = kind, event.is_open = true;
      event.recordings = static_cast<Recordings>(header_->recordings);
      event.run = span.run, event.parent_run = span.parent_run;
    }
    track.add_open(open);
  }

  const int file_, live_;
  const std::string path_;
  std::optional<RecordingHeader> header_;
  ClockCalibration line_;
  FileNumbers numbers_;
  std::unordered_map<uint32_t, std::vector<uint64_t>> stacks_;  // frames with the file's numbers
  std::map<uint32_t, LoadedObject> objects_;
  std::map<uint32_t, Thread> threads_;
  uint64_t other_drops_ = 0;
  uint64_t end_ = 0;  // tick of the recording's end, or of the last event if it has no end
};

Descriptor open_file(const std::string &path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

}  // namespace

Ref<Trace> read_event_file(const std::string &path) {
  const Descriptor file = open_file(path);
  const int error = errno;
  const Descriptor live = open_file(path + ".live");
  if (file.get() < 0 && live.get() < 0) fail_errno("cannot open", path, error);
  return make_object<Trace>(Reader(file.get(), live.get(), path).read());
}

TraceParts read_event_file(const EventFile &file) { return Reader(file.file(), file.live_file(), file.path()).read(); }

}  // namespace opd
