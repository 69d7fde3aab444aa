#include "base/sha256.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace {

// The examples of NIST for FIPS 180-4.
TEST(Sha256, HasTheStandardsDigests) {
  EXPECT_EQ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", opd::hex(opd::sha256("")));
  EXPECT_EQ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", opd::hex(opd::sha256("abc")));
  EXPECT_EQ("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            opd::hex(opd::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")));
  EXPECT_EQ("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            opd::hex(opd::sha256(std::string(1'000'000, 'a'))));
}

// Sizes around the ends of blocks, in pieces of any size: the digest is that of the whole.
TEST(Sha256, IsTheSameInPieces) {
  std::string text;
  for (size_t i = 0; i < 200; ++i) text += static_cast<char>(i * 7);
  for (size_t size = 0; size <= text.size(); ++size)
    for (const size_t piece : {1, 3, 55, 63, 64, 65}) {
      opd::Sha256Stream stream;
      for (size_t at = 0; at < size; at += piece)
        stream.add(std::string_view(text).substr(at, std::min(piece, size - at)));
      ASSERT_EQ(opd::sha256(text.substr(0, size)), stream.digest()) << size << " in pieces of " << piece;
    }
  opd::Sha256Stream of_digests;
  for (size_t size = 0; size <= text.size(); ++size) {
    const opd::Sha256 digest = opd::sha256(text.substr(0, size));
    of_digests.add({reinterpret_cast<const char *>(digest.data()), digest.size()});
  }
  // By Python's hashlib.
  EXPECT_EQ("c43614ca86d050b81500ab839e2b7e83381ef396e722c27d3e537ab57268e893", opd::hex(of_digests.digest()));
}

// RFC 4231, cases 1, 2, 4 and 6.
TEST(Sha256, HasTheHmacsOfTheRfc) {
  EXPECT_EQ("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            opd::hex(opd::hmac_sha256(std::string(20, '\x0b'), "Hi There")));
  EXPECT_EQ("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            opd::hex(opd::hmac_sha256("Jefe", "what do ya want for nothing?")));
  std::string key;
  for (char c = 1; c <= 25; ++c) key += c;
  EXPECT_EQ("82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            opd::hex(opd::hmac_sha256(key, std::string(50, '\xcd'))));
  EXPECT_EQ(
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
      opd::hex(opd::hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")));
}

TEST(Sha256, ConstantTimeComparisonMatchesEquality) {
  EXPECT_TRUE(opd::is_equal_in_constant_time("", ""));
  EXPECT_TRUE(opd::is_equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(opd::is_equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(opd::is_equal_in_constant_time("xbc", "abc"));
  EXPECT_FALSE(opd::is_equal_in_constant_time("abc", "ab"));
}

}  // namespace
