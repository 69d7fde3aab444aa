// Files of recordings made by hand, block by block: see trace/file/event_block.h for their form.
#pragma once
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "trace/file/event_block.h"
#include "trace/file/event_file.h"
#include "trace/model/trace.h"

namespace opd {

// A block of 64 KiB. Its checksum is that of its final bytes, so words may lie over events, as in a damaged file.
struct BuiltBlock {
  BlockHeader header{};
  std::vector<uint64_t> words{};
  std::vector<Event> events{};
  uint16_t records = 0;  // of blocks without events

  std::string sealed() const { return bytes(true); }
  std::string live() const { return bytes(false); }

 private:
  std::string bytes(bool is_sealed) const {
    std::string block(kBlockBytes, '\0');
    BlockHeader made = header;
    const auto sequence = static_cast<uint32_t>(header.state >> 32);
    const auto top = static_cast<uint16_t>(kHeaderWords + words.size());
    made.state = BlockState{sequence, top, static_cast<uint16_t>(events.empty() ? records : events.size())}.packed();
    for (size_t i = 0; i < events.size(); ++i)
      std::memcpy(block.data() + kBlockBytes - (i + 1) * sizeof(Event), &events[i], sizeof(Event));
    if (!words.empty()) std::memcpy(block.data() + sizeof made, words.data(), words.size() * sizeof(uint64_t));
    const char *const last = block.data() + kBlockBytes - events.size() * sizeof(Event);
    if (is_sealed) made.checksum = checksum_of(made, block.data() + sizeof made, words.size(), last, events.size());
    std::memcpy(block.data(), &made, sizeof made);
    return block;
  }
};

class EventFileBuilder {
 public:
  static constexpr uint64_t kFile = 7, kBegan = 1000, kEnded = 9000;

  EventFileBuilder() {
    header.magic = kBlockMagic, header.file_id = kFile, header.type = BlockType::kRecording;
    header.version = RecordingHeader::kVersion, header.clock = ClockId::kMonotonic, header.recordings = 1;
    header.ns_per_tick = 1, header.sample_interval = 1, header.clock_error_ns = -1;
    header.is_finished = 1, header.began = kBegan, header.ended = kEnded;
  }
  RecordingHeader header{};  // ticks are ns since the start of the system

  // The description, twice as in a file; `damaged`: a byte of the first one is another.
  std::string description(bool damaged = false) const {
    std::string block(kBlockBytes, '\0');
    RecordingHeader made = header;
    made.checksum = checksum_of(made);
    std::memcpy(block.data(), &made, sizeof made);
    std::memcpy(block.data() + RecordingHeader::kSecondCopy, &made, sizeof made);
    if (damaged) block[100] = static_cast<char>(block[100] + 1);
    return block;
  }

  static BuiltBlock block(BlockType type, uint32_t track = 0, uint32_t sequence = 0) {
    BuiltBlock made;
    made.header.magic = kBlockMagic, made.header.file_id = kFile, made.header.type = type;
    made.header.track = track, made.header.thread_id = 100 + track;
    made.header.state = uint64_t{sequence} << 32;
    return made;
  }
  struct Text {
    uint32_t number;
    std::string bytes;
  };
  static std::string texts(BlockType type, const std::vector<Text> &all) {
    BuiltBlock made = block(type);
    for (const Text &text : all) {
      const TextRecord record{static_cast<uint32_t>(text.bytes.size()), text.number};
      const size_t at = made.words.size(), size = 1 + (text.bytes.size() + 7) / 8;
      made.words.resize(at + size);
      std::memcpy(&made.words[at], &record, sizeof record);
      if (size > 1) std::memcpy(&made.words[at + 1], text.bytes.data(), text.bytes.size());
      ++made.records;
    }
    return made.sealed();
  }
  static std::string threads(const std::vector<ThreadRecord> &all) {
    BuiltBlock made = block(BlockType::kThreads);
    made.words.resize(all.size() * sizeof(ThreadRecord) / sizeof(uint64_t));
    std::memcpy(made.words.data(), all.data(), all.size() * sizeof(ThreadRecord));
    made.records = static_cast<uint16_t>(all.size());
    return made.sealed();
  }
};

// Reads FILE and FILE.live of these bytes; there is none of an empty text.
inline Ref<Trace> read_files(const std::string &file, const std::string &live = "") {
  std::string directory = std::filesystem::temp_directory_path() / "opdyno-event-file.XXXXXX";
  if (!::mkdtemp(directory.data())) fail(OPD_IO, "no directory ", directory);
  const struct Remover {
    const std::string &directory;
    ~Remover() { std::filesystem::remove_all(directory); }
  } remover{directory};
  const std::string path = directory + "/events";
  for (const auto &[name, bytes] : {std::pair(path, file), std::pair(path + ".live", live)})
    if (!bytes.empty())
      std::ofstream(name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return read_event_file(path);
}
// Why they are refused, without their path; "": they are not.
inline std::string refusal_of(const std::string &file, const std::string &live = "") {
  try {
    read_files(file, live);
  } catch (const Exception &e) {
    const std::string message = e.error()->message;
    return message.substr(message.find("/events") + std::strlen("/events"));
  }
  return "";
}

}  // namespace opd
