#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace opd {
namespace {

using Table = std::array<uint32_t, 256>;
// A linear function of a checksum: its result for each single bit.
using Matrix = std::array<uint32_t, 32>;

// The name is not apply(), because clang 14 would find std::apply() by the argument.
constexpr uint32_t image_of(const Matrix &matrix, uint32_t sum) {
  uint32_t made = 0;
  for (size_t bit = 0; sum; ++bit, sum >>= 1)
    if (sum & 1) made ^= matrix[bit];
  return made;
}

constexpr Table byte_table() {
  constexpr uint32_t kPolynomial = 0x82F63B78;
  Table made{};
  for (uint32_t byte = 0; byte < made.size(); ++byte) {
    made[byte] = byte;
    for (int bit = 0; bit < 8; ++bit) made[byte] = (made[byte] >> 1) ^ (made[byte] & 1 ? kPolynomial : 0);
  }
  return made;
}

// In a word, 7 - i bytes follow byte i.
constexpr std::array<Table, 8> word_tables() {
  std::array<Table, 8> made{byte_table()};
  for (size_t zeros = 1; zeros < made.size(); ++zeros)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t sum = made[zeros - 1][byte];
      made[zeros][byte] = (sum >> 8) ^ made[0][sum & 0xFF];
    }
  return made;
}
constexpr std::array<Table, 8> kWord = word_tables();

// Each CRC instruction waits for the result of the previous one, so the sums of three neighbouring parts are computed
// at once. Each part's sum is then moved behind the next part as if that part were zeros.
constexpr int kLogPart = 11;
constexpr size_t kPart = size_t{1} << kLogPart;  // bytes

constexpr std::array<Table, 4> part_tables() {
  Matrix zeros{};  // the effect of 1, 2, 4 … zeros on a sum
  for (size_t bit = 0; bit < zeros.size(); ++bit) {
    const uint32_t sum = uint32_t{1} << bit;
    zeros[bit] = (sum >> 8) ^ kWord[0][sum & 0xFF];
  }
  for (int i = 0; i < kLogPart; ++i) {
    Matrix twice{};
    for (size_t bit = 0; bit < zeros.size(); ++bit) twice[bit] = image_of(zeros, zeros[bit]);
    zeros = twice;
  }
  std::array<Table, 4> made{};
  for (uint32_t place = 0; place < made.size(); ++place)
    for (uint32_t byte = 0; byte < 256; ++byte) made[place][byte] = image_of(zeros, byte << (8 * place));
  return made;
}
constexpr std::array<Table, 4> kBehindPart = part_tables();

uint32_t behind_part(uint32_t sum) {
  return kBehindPart[0][sum & 0xFF] ^ kBehindPart[1][(sum >> 8) & 0xFF] ^ kBehindPart[2][(sum >> 16) & 0xFF] ^
         kBehindPart[3][sum >> 24];
}

uint64_t word_at(const unsigned char *at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint32_t with_byte(uint32_t sum, unsigned char byte) { return (sum >> 8) ^ kWord[0][(sum ^ byte) & 0xFF]; }

// Assembly instead of intrinsics: compilers allow those only in code that is compiled for processors with the
// instruction.
#if defined(__x86_64__)
bool processor_has_it() { return __builtin_cpu_supports("sse4.2"); }
inline void add_word(uint64_t &sum, uint64_t word) { asm("crc32q %1, %0" : "+r"(sum) : "rm"(word)); }
#elif defined(__aarch64__)
bool processor_has_it() {
  constexpr unsigned long kCrc32 = 1UL << 7;  // HWCAP_CRC32
  return ::getauxval(AT_HWCAP) & kCrc32;
}
inline void add_word(uint64_t &sum, uint64_t word) {
  asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(sum) : "r"(word));
}
#else
bool processor_has_it() { return false; }
inline void add_word(uint64_t &, uint64_t) {}
#endif
const bool has_instruction = processor_has_it();

}  // namespace

uint32_t crc32c_portable(uint32_t before, const void *data, size_t size) noexcept {
  const auto *at = static_cast<const unsigned char *>(data);
  uint32_t sum = ~before;
  for (; size >= 8; size -= 8, at += 8) {
    const uint64_t word = word_at(at) ^ sum;
    sum = 0;
    for (size_t i = 0; i < 8; ++i) sum ^= kWord[7 - i][(word >> (8 * i)) & 0xFF];
  }
  for (; size > 0; --size) sum = with_byte(sum, *at++);
  return ~sum;
}

uint32_t crc32c(uint32_t before, const void *data, size_t size) noexcept {
  if (!has_instruction) return crc32c_portable(before, data, size);
  const auto *at = static_cast<const unsigned char *>(data);
  uint64_t sum = ~before;
  for (; size >= 3 * kPart; size -= 3 * kPart, at += 3 * kPart) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kPart; i += 8) {
      add_word(sum, word_at(at + i));
      add_word(second, word_at(at + kPart + i));
      add_word(third, word_at(at + 2 * kPart + i));
    }
    sum = behind_part(behind_part(static_cast<uint32_t>(sum)) ^ static_cast<uint32_t>(second)) ^ third;
  }
  for (; size >= 8; size -= 8, at += 8) add_word(sum, word_at(at));
  auto last = static_cast<uint32_t>(sum);
  for (; size > 0; --size) last = with_byte(last, *at++);
  return ~last;
}

}  // namespace opd
