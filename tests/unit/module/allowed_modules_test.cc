// Lists of modules that may be loaded, as sha256sum prints them.
#include "module/allowed_modules.h"

#include <gtest/gtest.h>

#include "support/refusal.h"

namespace opd {
namespace {

// The digest of "abc" is that of FIPS 180's example.
const std::string kDigest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

std::string verdict(const std::string &list, const std::string &content = "abc") {
  std::string code = "accepted";
  try {
    AllowedModules(list).require(as_bytes(content), "m.so");
  } catch (const Exception &e) {
    EXPECT_TRUE(e.error()->code == OPD_BAD_FORMAT || e.error()->code == OPD_FAILED_PRECONDITION);
    code = e.what();
  }
  return code;
}
std::string odd_line(int number) {
  return concat("line ", number,
                " of the list of modules must be a SHA-256 in 64 digits and a name, as sha256sum prints it");
}

TEST(AllowedModules, HaveADigestInTheList) {
  const std::string other(64, '0'), not_there = "the module m.so with the SHA-256 " + kDigest +
                                                " is not in the list of allowed modules (opdyno serve --allow-modules)";
  std::string upper = kDigest;
  for (char &digit : upper) digit = static_cast<char>(std::toupper(digit));
  for (const std::string &list :
       {kDigest, kDigest + "\n", kDigest + "  a.so\n", kDigest + " *a.so", upper + "  a.so", "\\" + kDigest + "  a\\nb",
        kDigest + "\r\n", "\n\r\n# a comment\n" + other + "  b.so\n" + kDigest + "  a.so\n# the end",
        kDigest + "  a.so\n" + other + "  b.so\n"})
    EXPECT_EQ(verdict(list), "accepted") << list;
  for (const std::string &list :
       {std::string(), std::string("\n"), std::string("# only a comment"), other + "  m.so", "# " + kDigest + "  m.so"})
    EXPECT_EQ(verdict(list), not_there) << list;
  EXPECT_EQ(verdict(kDigest + "  a.so", "abd").substr(0, 33), "the module m.so with the SHA-256 ");
}

TEST(AllowedModules, AreListedLineByLine) {
  const std::string good = kDigest + "  a.so\n";
  EXPECT_EQ(verdict(kDigest.substr(1)), odd_line(1));
  EXPECT_EQ(verdict(kDigest + "0"), odd_line(1));
  EXPECT_EQ(verdict(kDigest + "\t a.so"), odd_line(1));
  EXPECT_EQ(verdict(" " + good), odd_line(1));
  EXPECT_EQ(verdict("\\\\" + good), odd_line(1));
  EXPECT_EQ(verdict("\n" + good + "#\nx\n"), odd_line(4));
  EXPECT_EQ(verdict(good + kDigest.substr(0, 63)), odd_line(2));
  for (const char digit : {'/', ':', '`', 'g', '@', 'G', ' '}) {  // beside those of hexadecimal numbers
    std::string line = kDigest;
    line[63] = digit;
    EXPECT_EQ(verdict(line), odd_line(1)) << digit;
  }
  EXPECT_EQ(verdict("0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCD\n" + good), "accepted");
}

}  // namespace
}  // namespace opd
