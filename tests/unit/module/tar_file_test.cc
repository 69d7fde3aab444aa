// Tar archives: what is written is read again, and damaged ones are refused.
#include "module/tar_file.h"

#include <gtest/gtest.h>

namespace opd {
namespace {

std::string refusal(const std::string &archive) {
  try {
    read_tar(as_bytes(archive), "a.tar");
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT);
    return e.what();
  }
  return "none";
}
bool tells(const std::string &archive, const char *part) {
  const std::string text = refusal(archive);
  EXPECT_NE(text.find(part), std::string::npos) << text;
  return text.find(part) != std::string::npos;
}

// Writes a header's checksum anew: the sum of its bytes with spaces in the place of the sum.
std::string with_sum(std::string archive) {
  archive.replace(148, 8, "        ");
  unsigned sum = 0;
  for (int i = 0; i < 512; ++i) sum += static_cast<unsigned char>(archive[static_cast<size_t>(i)]);
  for (size_t at = 154; at-- > 148; sum /= 8) archive[at] = static_cast<char>('0' + sum % 8);
  archive[154] = '\0';
  return archive;
}
std::string changed(size_t at, const std::string &bytes) {
  std::string archive = write_tar({{"a.o", "content"}});
  return with_sum(archive.replace(at, bytes.size(), bytes));
}

TEST(ATarFile, IsReadAsItWasWritten) {
  const std::vector<TarEntry> entries = {{"a.o", "content"}, {"directory/b.o", std::string(512, 'x')}, {"empty.o", ""}};
  const std::string archive = write_tar(entries);
  // Per file a header and its content in blocks of 512; two empty blocks at the end.
  EXPECT_EQ(archive.size(), 512u * (2 + 2 + 1 + 2));
  const auto read = read_tar(as_bytes(archive), "a.tar");
  ASSERT_EQ(read.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read[i].name, entries[i].name);
    EXPECT_EQ(read[i].content, entries[i].content);
  }
}

TEST(ATarFile, MayLackItsEnd) {
  const std::string archive = write_tar({{"a.o", "content"}});
  EXPECT_EQ(read_tar(as_bytes(archive.substr(0, 1024)), "a.tar").size(), 1u);
  EXPECT_EQ(read_tar(as_bytes(archive.substr(0, 512 + 7)), "a.tar").size(), 1u);
  EXPECT_TRUE(tells(archive.substr(0, 512 + 6), "needs 7 bytes, 6 remain"));
  EXPECT_TRUE(tells(archive.substr(0, 511), "needs 512 bytes"));
}

TEST(ATarFile, IsRefusedIfAnyHeaderLies) {
  std::string archive = write_tar({{"a.o", "content"}});
  archive[0] = 'b';
  EXPECT_TRUE(tells(archive, "wrong checksum"));
  EXPECT_TRUE(tells(changed(124, "77777777777"), "needs 8589934591 bytes"));
  EXPECT_TRUE(tells(changed(124, "\x80"), "other than octal digits"));
  EXPECT_TRUE(tells(changed(156, "1"), "of type '1'"));
  EXPECT_TRUE(tells(changed(156, "\x01"), "of type '?'"));
  EXPECT_TRUE(tells(changed(0, std::string(3, '\0')), "name"));
  EXPECT_TRUE(tells(changed(345, ".."), "leads out"));
  EXPECT_TRUE(tells(changed(0, "a/../b"), "leads out"));
  EXPECT_TRUE(tells(changed(0, std::string("..\0", 3)), "leads out"));
  EXPECT_EQ(refusal(changed(0, "..a")), "none");
}

std::string extended(const std::string &records) {
  std::string header = write_tar({{"pax", records}});
  header.resize(header.size() - 1024);
  header[156] = 'x';
  return with_sum(header) + write_tar({{"short.o", "1"}});
}

TEST(ATarFile, TakesLongNamesFromGnusHeaders) {
  std::string header = write_tar({{"@LongLink", std::string("long/n.o\0", 9)}});
  header.resize(header.size() - 1024);
  header[156] = 'L';
  const std::string archive = with_sum(header) + write_tar({{"short.o", "1"}, {"next.o", "2"}});
  const auto entries = read_tar(as_bytes(archive), "a.tar");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "long/n.o");
  EXPECT_EQ(entries[1].name, "next.o") << "the long name is that of one file";
}

TEST(ATarFile, HasFilesOfTheThreePlainTypes) {
  for (const char type : {'0', '\0', '7'})
    EXPECT_EQ(read_tar(as_bytes(changed(156, std::string(1, type))), "a.tar").size(), 1u) << type;
  for (const char type : {'5', 'g'})
    EXPECT_EQ(read_tar(as_bytes(changed(156, std::string(1, type))), "a.tar").size(), 0u) << type;
  EXPECT_TRUE(tells(changed(156, "2"), "is of type '2': only plain files and directories are read"));
}

TEST(ATarFile, IsKnownByItsStart) {
  const std::string archive = write_tar({{"a.o", "content"}});
  EXPECT_TRUE(looks_like_tar(as_bytes(archive)));
  EXPECT_TRUE(looks_like_tar(as_bytes(archive.substr(0, 262))));
  EXPECT_FALSE(looks_like_tar(as_bytes(archive.substr(0, 261))));
  EXPECT_TRUE(looks_like_tar(as_bytes("\x1f\x8b")));
  EXPECT_FALSE(looks_like_tar(as_bytes("\x1f")));
  EXPECT_FALSE(looks_like_tar({}));
}

TEST(ATarFile, HasNamesOfOneToAHundredBytes) {
  const std::string longest(100, 'n');
  EXPECT_EQ(read_tar(as_bytes(write_tar({{longest, "1"}})), "a.tar").at(0).name, longest);
  for (const std::string &name : {std::string(), longest + "n"}) {
    try {
      write_tar({{name, "1"}});
      ADD_FAILURE() << name;
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->message, concat("\"", name, "\" is no name for a member of a tar archive"));
    }
  }
}

// A file of 512 bytes is followed by the next header at once, one of 513 by 511 bytes more.
TEST(ATarFile, IsPaddedToWholeBlocks) {
  for (const size_t size : {1, 511, 512, 513, 1024}) {
    const std::string archive = write_tar({{"a.o", std::string(size, 'x')}, {"b.o", "1"}});
    EXPECT_EQ(archive.size(), 512 * (1 + (size + 511) / 512 + 2 + 2)) << size;
    const auto entries = read_tar(as_bytes(archive), "a.tar");
    ASSERT_EQ(entries.size(), 2u) << size;
    EXPECT_EQ(entries[0].content.size(), size);
    EXPECT_EQ(entries[1].content, "1");
  }
}

TEST(ATarFile, TakesLongNamesFromExtendedHeaders) {
  EXPECT_EQ(read_tar(as_bytes(extended("17 path=long/n.o\n8 a=bcd\n")), "a.tar").at(0).name, "long/n.o");
  EXPECT_EQ(read_tar(as_bytes(extended("8 a=bcd\n")), "a.tar").at(0).name, "short.o");
  const std::string longest(4096, 'n');  // a record counts itself: four digits, " path=", the name, the end of the line
  EXPECT_EQ(read_tar(as_bytes(extended("4107 path=" + longest + "\n")), "a.tar").at(0).name, longest);
  EXPECT_TRUE(tells(extended("4108 path=" + longest + "n\n"), "has 4097 bytes"));
  EXPECT_TRUE(tells(extended("12 path=../x\n"), "malformed"));
  EXPECT_TRUE(tells(extended("13 path=../x\n"), "leads out"));
  EXPECT_TRUE(tells(extended("9 size=9\n"), "overrides"));
  EXPECT_TRUE(tells(extended("99 path=x\n"), "malformed"));
  EXPECT_TRUE(tells(extended("x"), "malformed"));
}

}  // namespace
}  // namespace opd
