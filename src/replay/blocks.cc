#include "replay/blocks.h"

#include "base/content_hash.h"

namespace opd {
namespace {

template <class T>
std::string_view bytes_of_field(const T &field) {
  return {reinterpret_cast<const char *>(&field), sizeof field};
}

uint64_t head_check(const BlockHead &head) {
  ContentHash hash;
  hash.add(capture_header()).add(bytes_of_field(head.kind)).add(bytes_of_field(head.number));
  return hash.add(bytes_of_field(head.size)).low();
}

void add_content_hash(BlockHead &head, std::string_view content) {
  ContentHash hash;
  hash.add(bytes_of_field(head.head_check)).add(content);
  head.low = hash.low(), head.high = hash.high();
}

}  // namespace

std::string capture_header() {
  ByteWriter out;
  out.write(kCaptureMagic);
  out.write(kCaptureVersion);
  out.write<uint32_t>(0);
  return out.take();
}

BlockHead head_of(BlockKind kind, uint32_t number, std::string_view content) {
  BlockHead head{kind, number, content.size(), 0, 0, 0};
  head.head_check = head_check(head);
  add_content_hash(head, content);
  return head;
}

BlockReader::BlockReader(Bytes bytes, const char *name) : name_(name), bytes_(bytes, name) {
  const std::string_view magic(kCaptureMagic.data(), kCaptureMagic.size());
  if (!as_text(bytes).starts_with(magic))
    fail(OPD_BAD_FORMAT, name, " is no recording of a call: it does not begin with \"", magic, "\"");
  bytes_.take(magic.size(), "magic");
  const auto version = bytes_.read<uint32_t>("version");
  if (version > kCaptureVersion)
    fail(OPD_UNSUPPORTED, name, " has version ", version, " of the format of recordings; this opdyno reads ",
         kCaptureVersion, " and older");
  if (version != kCaptureVersion) bytes_.bad("version", concat("must be ", kCaptureVersion, ", but is ", version));
  if (bytes_.read<uint32_t>("header") != 0) bytes_.bad("header", "must end with 0");
}

std::optional<Block> BlockReader::next() {
  if (bytes_.at_end()) return std::nullopt;
  if (bytes_.remaining() < sizeof(BlockHead)) return is_cut_ = true, std::nullopt;
  const auto head = bytes_.read<BlockHead>("block");
  if (head.head_check != head_check(head) || head.number != number_)
    bytes_.bad("block", concat("is damaged: number ", number_, " does not have its checksum"));
  if (head.size > bytes_.remaining()) return is_cut_ = true, std::nullopt;
  const size_t offset = bytes_.offset();
  const Bytes content = bytes_.take(head.size, "block");
  BlockHead expected = head;
  add_content_hash(expected, as_text(content));
  if (expected.low != head.low || expected.high != head.high)
    fail(OPD_BAD_FORMAT, name_, ": block ", number_, " at offset ", offset, " is damaged: its ", head.size,
         " bytes do not have its checksum");
  ++number_;
  return Block{head.kind, content, offset};
}

}  // namespace opd
