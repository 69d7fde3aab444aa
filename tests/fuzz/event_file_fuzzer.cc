// Files of recordings. Checksums would refuse nearly every random file, so the input is what differs from a valid one:
// sections of a length and bytes that are combined with those of a block by XOR.
#include <opdyno/opdyno.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "trace/file/event_block.h"

namespace {

using namespace opd;

struct Input {
  const uint8_t *data;
  size_t size;
  uint8_t byte() { return size ? --size, *data++ : uint8_t{0}; }
  void change(char *place, size_t most) {
    const size_t count = std::min<size_t>(byte() | byte() << 8, most);
    for (size_t i = 0; i < count; ++i) place[i] = static_cast<char>(place[i] ^ byte());
  }
};

template <class T>
T *as(std::string &block, size_t at = 0) {
  return reinterpret_cast<T *>(block.data() + at);
}

std::string recording(Input &input) {
  std::string block(kBlockBytes, '\0');
  RecordingHeader header{};
  header.magic = kBlockMagic, header.file_id = 1, header.type = BlockType::kRecording;
  header.version = RecordingHeader::kVersion, header.clock = ClockId::kTsc, header.recordings = 1;
  header.anchor_ticks = header.anchor_ns = 1'000'000, header.ns_per_tick = 0.5, header.sample_interval = 1;
  header.has_memory = 1;
  input.change(reinterpret_cast<char *>(&header) + sizeof header.magic, sizeof header - sizeof header.magic);
  header.checksum = checksum_of(header);
  std::memcpy(block.data(), &header, sizeof header);
  return block;
}

std::string begin_block(BlockType type, uint32_t track, BlockState state) {
  std::string block(kBlockBytes, '\0');
  BlockHeader header{};
  header.magic = kBlockMagic, header.file_id = 1, header.type = type, header.track = track;
  header.state = state.packed(), header.thread_id = track;
  header.num_open_spans = 2;
  header.open_spans[0] = {1'000'500, PackedSpan::of({.name = 1, .kind = EventKind::kRun, .stack = 1}), 3, 0};
  header.open_spans[1] = {1'000'600, PackedSpan::of({.name = 2}), 0, 0};
  std::memcpy(block.data(), &header, sizeof header);
  return block;
}

std::string names(Input &input) {
  constexpr uint16_t kWords = 16;
  std::string block = begin_block(BlockType::kNames, 0, {0, kHeaderWords + kWords, kWords / 2});
  for (uint64_t i = 0; i < kWords / 2; ++i) {
    as<uint64_t>(block, sizeof(BlockHeader))[2 * i] = i << 32 | 3;
    std::memcpy(block.data() + sizeof(BlockHeader) + 16 * i + 8, "abc", 3);
  }
  input.change(block.data(), sizeof(BlockHeader) + kWords * 8);
  return block;
}

std::string events(Input &input, uint32_t track) {
  constexpr uint16_t kWords = 32, kEvents = 10;
  std::string block = begin_block(BlockType::kEvents, track, {0, kHeaderWords + kWords, kEvents});
  auto *const words = as<uint64_t>(block, sizeof(BlockHeader));
  words[0] = uint64_t{2} << 32 | 0x00012002, words[1] = 3, words[2] = 4;  // float32[3, 4]
  words[3] = 2, words[4] = 1, words[5] = 77;                              // a metric of the name 1
  for (uint32_t i = 0; i < kEvents; ++i) {
    Event event{};
    event.begin = 1'000'000 + 100 * i, event.end = event.begin + 50 + 100 * (i % 3);
    event.name = i % 8, event.kind = static_cast<EventKind>(i % 7), event.recordings = 1, event.run = i;
    if (i % 7 == 0) event.num_tensors = 1, event.shapes = kHeaderWords;
    if (i == 8) event.items = kHeaderWords + 3;
    std::memcpy(block.data() + kBlockBytes - (i + 1) * sizeof event, &event, sizeof event);
  }
  input.change(block.data(), sizeof(BlockHeader) + kWords * 8);
  input.change(block.data() + kBlockBytes - kEvents * sizeof(Event), kEvents * sizeof(Event));
  return block;
}

void release(opd_error *error) { opd_error_release(error); }

// Where the file lies, until the process ends.
struct Folder {
  Folder() {
    const char *const given = ::getenv("TMPDIR");
    path = std::string(given ? given : "/tmp") + "/opdyno_event_file.XXXXXX";
    if (!::mkdtemp(path.data())) abort();
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  static const std::string path = folder.path + "/events";
  Input input{data, size};
  const std::string header = recording(input), texts = names(input), one = events(input, 1), two = events(input, 2);
  std::ofstream(path + ".live", std::ios::binary) << header << texts << one << two;
  opd_trace *trace = nullptr;
  release(opd_trace_load(path.c_str(), &trace));
  if (trace) {
    for (int form = OPD_TRACE_CHROME; form <= OPD_TRACE_MEMORY_TIMELINE_HTML; ++form) {
      opd_buffer *bytes = nullptr;
      release(opd_trace_write(trace, static_cast<opd_trace_format>(form), nullptr, &bytes));
      opd_buffer_release(bytes);
    }
    for (int view = OPD_TRACE_EVENTS; view <= OPD_TRACE_KEY_AVERAGES_BY_SHAPE; ++view) {
      opd_report *report = nullptr;
      release(opd_trace_to_report(trace, static_cast<opd_trace_view>(view), nullptr, &report));
      opd_report_release(report);
    }
  }
  opd_trace_release(trace);
  return 0;
}
