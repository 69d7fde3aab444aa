#include "rpc/wire/frames.h"

#include <algorithm>

#include "base/crc32c.h"

namespace opd::rpc {
namespace {

// Bytes are summed in pieces of this size. A piece stays in the processor's cache, and the other side receives the
// piece before.
constexpr size_t kSummedAtOnce = size_t{256} << 10;

std::string_view raw(const uint32_t &sum) { return {reinterpret_cast<const char *>(&sum), sizeof sum}; }

struct Head {
  Head(uint64_t packet_size, bool with_checksum)
      : size(packet_size), sum(with_checksum ? crc32c(0, &size, sizeof size) : 0), has_sum(with_checksum) {}
  std::string_view bytes() const {
    return {reinterpret_cast<const char *>(this), has_sum ? sizeof size + sizeof sum : sizeof size};
  }

  uint64_t size;
  uint32_t sum;  // directly after `size`
  bool has_sum;
};

}  // namespace

std::string frame_of(std::string_view packet, bool has_checksums) {
  const Head head(packet.size(), has_checksums);
  std::string made(head.bytes());
  made += packet;
  if (has_checksums) made += raw(crc32c(head.sum, packet.data(), packet.size()));
  return made;
}

uint64_t Frames::read_size() {
  uint64_t size;
  socket_.read(&size, sizeof size);
  read_sum_ = crc32c(0, &size, sizeof size);
  end();
  return size;
}

void Frames::read(void *to, uint64_t size) {
  if (!has_checksums_) return socket_.read(to, size);
  auto *at = static_cast<char *>(to);
  for (size_t part; size > 0; size -= part, at += part) {
    part = std::min<uint64_t>(size, kSummedAtOnce);
    socket_.read(at, part);
    read_sum_ = crc32c(read_sum_, at, part);
  }
}

void Frames::read_rest(std::string &to, uint64_t size) {
  constexpr uint64_t kPiece = 1 << 20;
  for (uint64_t have = to.size(); have < size; have = to.size()) {
    to.resize(have + std::min(size - have, std::max(kPiece, have)));
    read(to.data() + have, to.size() - have);
  }
  end();
}

void Frames::end() {
  if (!has_checksums_) return;
  uint32_t sum;
  socket_.read(&sum, sizeof sum);
  if (sum == read_sum_) return;
  is_damaged_ = true;
  fail(OPD_IO, kDamageAnswer.substr(kDamageAnswer.find(": ") + 2));
}

void Frames::write(std::string_view packet, std::string_view rest) {
  const Head head(packet.size() + rest.size(), has_checksums_);
  std::string front(head.bytes());
  front += packet;
  if (!has_checksums_) return socket_.write(front, rest);
  uint32_t sum = crc32c(head.sum, packet.data(), packet.size());
  for (; rest.size() > kSummedAtOnce; rest.remove_prefix(kSummedAtOnce), front.clear()) {
    sum = crc32c(sum, rest.data(), kSummedAtOnce);
    socket_.write(front, rest.substr(0, kSummedAtOnce));
  }
  sum = crc32c(sum, rest.data(), rest.size());
  socket_.write(front, rest, raw(sum));
}

void Frames::write_last(std::string_view packet) const noexcept {
  const Head head(packet.size(), has_checksums_);
  socket_.write_last(head.bytes());
  socket_.write_last(packet);
  if (has_checksums_) socket_.write_last(raw(crc32c(head.sum, packet.data(), packet.size())));
}

void Frames::end_with(std::string_view packet) noexcept {
  write_last(packet);
  socket_.drain(std::chrono::seconds(5));
}

}  // namespace opd::rpc
