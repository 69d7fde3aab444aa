// The form of files of events, which are written while a recording goes on: see docs/tracing.md. Such a file is a
// sequence of self-describing blocks of 64 KiB, so a reader can read any of them alone. A block of events is a chunk
// (trace/model/event.h) with this header in front. Numbers are little-endian.
//
// FILE has sealed blocks, each with a checksum. FILE.live is mapped by the process that records: it has the newest
// block of each thread, so a process that is killed loses at most the event that it was about to publish.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/clock.h"
#include "trace/model/open_spans.h"

namespace opd {

inline constexpr size_t kBlockBytes = Chunk::kBytes;
inline constexpr size_t kBlockWords = kBlockBytes / sizeof(uint64_t);
inline constexpr std::array<char, 8> kBlockMagic{'o', 'p', 'd', 'y', 'n', 'o', 'E', '1'};

enum class BlockType : uint32_t {
  kRecording = 1,  // RecordingHeader, at the block's begin and again in its middle
  kNames = 2,      // TextRecords: names of events, by their numbers
  kEvents = 3,     // events of one thread
  kThreads = 4,    // ThreadRecords of threads that have ended
  kStacks = 5,     // TextRecords: frames of stacks, by their numbers
  kObjects = 6     // TextRecords: the objects that contain the addresses of stacks
};

// The used part of a block, in one word, so that it is published at once.
struct BlockState {
  uint32_t sequence = 0;  // events: number of the block on its thread
  uint16_t top = 0;       // words in use from the front on
  uint16_t count = 0;     // events, or records

  uint64_t packed() const { return uint64_t{sequence} << 32 | uint32_t{top} << 16 | count; }
  static BlockState of(uint64_t packed) {
    return {static_cast<uint32_t>(packed >> 32), static_cast<uint16_t>(packed >> 16), static_cast<uint16_t>(packed)};
  }
};

// A span that has begun and not ended. `begin` is 0 while the rest changes.
struct OpenSpanRecord {
  uint64_t begin;
  PackedSpan what;
  uint64_t run, parent_run;
};
inline constexpr size_t kMostOpenSpans = 16;  // only the outermost spans are kept

// In FILE.live, the members that change are written with atomic stores.
struct BlockHeader {
  std::array<char, 8> magic;
  uint64_t checksum;  // covers all other bytes in use, see checksum_of(); 0: the block is not sealed
  uint64_t file_id;   // random; blocks with another id are left from an older file
  BlockType type;
  uint32_t track;        // events: number of the thread in the file
  uint64_t state;        // BlockState
  uint64_t produced[2];  // events of the recording that the thread made before this block; [sequence % 2] is valid
  uint64_t dropped;      // events for which there was no room
  int64_t thread_id;
  char thread_name[32];     // ends with a zero
  uint64_t num_open_spans;  // number of the spans below
  OpenSpanRecord open_spans[kMostOpenSpans];
};
static_assert(sizeof(BlockHeader) == 624 && std::endian::native == std::endian::little);
inline constexpr size_t kHeaderWords = sizeof(BlockHeader) / sizeof(uint64_t);
static_assert(kHeaderWords == Chunk::first_word());

// Facts about the recording for readers. A block has two copies, `kSecondCopy` bytes apart.
struct RecordingHeader {
  static constexpr size_t kSecondCopy = kBlockBytes / 2;
  static constexpr uint32_t kVersion = 1;
  std::array<char, 8> magic;
  uint64_t checksum;  // covers the rest of the header
  uint64_t file_id;
  BlockType type;
  uint32_t version;
  ClockId clock;
  uint32_t recordings;  // bit of the recording in its events
  uint64_t anchor_ticks, anchor_ns;
  double ns_per_tick;
  int64_t unix_offset_ns;
  uint64_t sample_interval;
  uint32_t has_memory, has_stacks, is_finished;
  uint32_t num_blocks;    // of the finished file; 0: not finished
  uint64_t began, ended;  // ticks; ended: 0 if it was not finished
  uint64_t other_drops;   // events of threads that have no block
  int64_t process_id;
  int64_t clock_error_ns;           // as in TraceProcess
  char process_name[64], host[64];  // as in TraceProcess; NUL-terminated
  uint64_t runs_after;              // as in EventFilter
  char clock_name[72];              // as host
};

// In FILE.live, this word of the block counts the events dropped so far by threads without a block.
inline constexpr size_t kOtherDropsWord = 512;
static_assert(kOtherDropsWord * sizeof(uint64_t) >= sizeof(RecordingHeader));

// A number and a size. The bytes follow, padded to whole words. Each block of these records is written twice, because
// losing one would lose the names of many events.
struct TextRecord {
  uint32_t size, number;
};

struct ThreadRecord {
  uint64_t track, produced, dropped;
  int64_t thread_id;
  char thread_name[32];
};
static_assert(sizeof(ThreadRecord) == 64);
inline constexpr size_t kMostThreadRecords = (kBlockBytes - sizeof(BlockHeader)) / sizeof(ThreadRecord);

// A change of one word always changes the result. There are four lanes, because a single one would wait for each
// product.
class Checksum {
 public:
  void add(const void *data, size_t words) {
    const auto *bytes = static_cast<const unsigned char *>(data);
    for (size_t i = 0; i < words; ++i, bytes += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, bytes, sizeof word);
      uint64_t &lane = lanes_[i % 4];
      lane = (lane ^ word) * 0x9E3779B97F4A7C15u;
      lane ^= lane >> 32;
    }
  }
  uint64_t result() const {  // never 0
    uint64_t all = 0;
    for (const uint64_t lane : lanes_) all = (all ^ lane) * 0xD6E8FEB86659FD93u, all ^= all >> 32;
    return all ? all : 1;
  }

 private:
  std::array<uint64_t, 4> lanes_{1, 2, 3, 4};
};

// `words`: those after the header, up to the state's `top`. `events`: the last events of the block, if it has any.
inline uint64_t checksum_of(BlockHeader header, const void *words, size_t num_words, const void *events,
                            size_t num_events) {
  header.checksum = 0;
  Checksum sum;
  sum.add(&header, kHeaderWords);
  sum.add(words, num_words);
  sum.add(events, num_events * sizeof(Event) / sizeof(uint64_t));
  return sum.result();
}
inline uint64_t checksum_of(RecordingHeader header) {
  static_assert(sizeof(RecordingHeader) % sizeof(uint64_t) == 0);
  header.checksum = 0;
  Checksum sum;
  sum.add(&header, sizeof header / sizeof(uint64_t));
  return sum.result();
}

}  // namespace opd
