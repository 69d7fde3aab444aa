#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace {

// Of RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
TEST(Crc32c, HasTheStandardsValues) {
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  const std::string falling(rising.rbegin(), rising.rend());
  for (const auto function : {opd::crc32c, opd::crc32c_portable}) {
    const auto of = [&](const std::string &text) { return function(0, text.data(), text.size()); };
    EXPECT_EQ(of("123456789"), 0xE3069283u);
    EXPECT_EQ(of(std::string(32, '\0')), 0x8A9136AAu);
    EXPECT_EQ(of(std::string(32, '\xFF')), 0x62A8AB43u);
    EXPECT_EQ(of(rising), 0x46DD794Eu);
    EXPECT_EQ(of(falling), 0x113FDB5Cu);
    EXPECT_EQ(of(""), 0u);
  }
}

// The definition, bit by bit.
uint32_t crc32c_by_bits(std::string_view bytes) {
  uint32_t sum = ~0u;
  for (const unsigned char byte : bytes) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum & 1 ? 0x82F63B78u : 0u);
  }
  return ~sum;
}

// Sizes around those at which bytes are summed in other ways, from any address.
TEST(Crc32c, MatchesItsDefinitionForAllSizes) {
  std::string text;
  uint32_t drawn = 1;
  for (size_t i = 0; i < 20'000; ++i) text += static_cast<char>((drawn = drawn * 1664525 + 1013904223) >> 24);
  for (const size_t about : {0, 16, 2048, 4096, 6144, 12'288, 18'432})
    for (size_t size = about; size < about + 18; ++size) {
      const size_t begin = size % 9;
      const std::string_view part = std::string_view(text).substr(begin, size);
      ASSERT_EQ(opd::crc32c(0, part.data(), size), crc32c_by_bits(part)) << size;
      ASSERT_EQ(opd::crc32c_portable(0, part.data(), size), crc32c_by_bits(part)) << size;
    }
}

TEST(Crc32c, IsTheSameInPieces) {
  std::string text;
  for (size_t i = 0; i < 20'000; ++i) text += static_cast<char>(i * 7 >> 3);
  for (const auto function : {opd::crc32c, opd::crc32c_portable})
    for (const size_t piece : {1, 7, 8, 1000, 6143, 6144, 6145, 19'999}) {
      uint32_t sum = 0;
      for (size_t at = 0; at < text.size(); at += piece)
        sum = function(sum, text.data() + at, std::min(piece, text.size() - at));
      EXPECT_EQ(sum, crc32c_by_bits(text)) << piece;
    }
}

}  // namespace
