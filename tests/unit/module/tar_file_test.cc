// Tar archives: what is written is read again, and damaged ones are refused.
#include "module/tar_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/c_artifact.h"
#include "support/refusal.h"

namespace opd {
namespace {

std::string tar_refusal(const std::string &archive) {
  return refusal(OPD_BAD_FORMAT, [&] { read_tar(as_bytes(archive), "a.tar"); });
}
bool tells(const std::string &archive, const char *part) {
  const std::string text = tar_refusal(archive);
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
  EXPECT_EQ(tar_refusal(changed(0, "..a")), "accepted");
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

TEST(ATarFile, IsRecognisedByItsStart) {
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
      EXPECT_EQ(e.error()->message,
                concat("a member of a tar archive cannot have the name \"", name, "\": it must have 1 to 100 bytes"));
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

// The fields of POSIX's ustar header, octal numbers with a 0 at their end; the checksum has a space behind it.
TEST(ATarFile, HasTheSameHeaderOnEveryMachine) {
  const std::string archive = write_tar({{"a.o", "content"}});
  std::string header(512, '\0');
  const auto put = [&](size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  put(0, "a.o"), put(100, "0000644"), put(108, "0000000"), put(116, "0000000");
  put(124, "00000000007"), put(136, "00000000000"), put(148, "        "), put(156, "0"), put(257, "ustar"),
      put(263, "00");
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  char digits[9] = "";
  std::snprintf(digits, sizeof digits, "%06o", sum);
  put(148, std::string(digits) + std::string("\0 ", 2));
  EXPECT_EQ(archive, header + "content" + std::string(505 + 1024, '\0'));
}

TEST(ATarFile, MayHaveSpacesAroundItsNumbers) {
  for (const char *size : {"          7 ", "7           ", " 00000000007", "00000000007 "})
    EXPECT_EQ(read_tar(as_bytes(changed(124, size)), "a.tar").at(0).content, "content") << size;
  const std::string block = write_tar({{"a.o", std::string(8, '0')}});
  EXPECT_EQ(read_tar(as_bytes(with_sum(std::string(block).replace(124, 12, "         010"))), "a.tar").at(0).content,
            std::string(8, '0'));
  for (const char *size : {"8           ", "/           ", "00000000a07 "})
    EXPECT_TRUE(tells(changed(124, size), "has other than octal digits")) << size;
  EXPECT_EQ(tar_refusal(changed(124, "0000000000")), "accepted") << "what stands there is 0 then";
}

// GNU's older form has the same field for other things.
TEST(ATarFile, HasAPrefixBeforeItsNameIfItIsOfPosixsForm) {
  const auto name = [](const std::string &magic) {
    std::string archive = changed(257, magic);
    return read_tar(as_bytes(with_sum(archive.replace(345, 3, "dir"))), "a.tar").at(0).name;
  };
  EXPECT_EQ(name(std::string("ustar\0", 6)), "dir/a.o");
  EXPECT_EQ(name("ustar  "), "a.o");
  EXPECT_EQ(read_tar(as_bytes(changed(257, std::string("ustar\0", 6))), "a.tar").at(0).name, "a.o");
}

TEST(ATarFile, HasNamesThatStayInIt) {
  const auto leads_out = [](const std::string &name) {
    return "a.tar: tar archive: a member's name at offset 1024 leads out of the archive: " + name;
  };
  for (const char *name : {"/a", "../a", "a/..", "a/../b", "/"}) {
    std::string field = name;
    field.resize(4, '\0');
    if (std::strlen(name) > 4) field = std::string(name) + '\0';
    EXPECT_EQ(tar_refusal(changed(0, field)), leads_out(name));
  }
  for (const char *name : {"a..", "..a", "a//b", "./a", "a/"}) {
    EXPECT_EQ(tar_refusal(changed(0, std::string(name) + '\0')), "accepted") << name;
  }
  const std::string deep = "/" + std::string(300, 'n');
  EXPECT_EQ(tar_refusal(extended("311 path=" + deep + "\n")),
            "a.tar: tar archive: a member's name at offset 2048 leads out of the archive: " + deep.substr(0, 200));
  EXPECT_EQ(tar_refusal(extended(std::string("12 path=a\0b\n", 12))),
            "a.tar: tar archive: a member's name at offset 2048 has 3 bytes, or a 0 byte among them");
  EXPECT_EQ(tar_refusal(changed(0, std::string(3, '\0'))),
            "a.tar: tar archive: a member's name at offset 1024 has 0 bytes, or a 0 byte among them");
}

// A record's length counts its own digits, of which there are at most nine.
TEST(ATarFile, HasExtendedHeadersOfRecords) {
  const auto name = [](const std::string &records) {
    return read_tar(as_bytes(extended(records)), "a.tar").at(0).name;
  };
  EXPECT_EQ(name("000000017 path=n\n"), "n");
  EXPECT_EQ(name("3 \n"), "short.o");
  EXPECT_EQ(name("10 path=a\n10 path=b\n"), "b");
  EXPECT_EQ(name("11 xpath=a\n"), "short.o");
  const std::string malformed = "a.tar: tar archive: an extended header at offset 1024 has a malformed record";
  for (const char *records : {"0000000018 path=n\n", "2 ", "2\n", "10xpath=a\n", "10 path=a ", "11 path=a\n", "1 \n",
                              " 11 path=a\n", "1: path=a\n", "1/ path=a\n"})
    EXPECT_EQ(tar_refusal(extended(records)), malformed) << records;
  EXPECT_EQ(tar_refusal(extended("9 size=9\n")),
            "a.tar: tar archive: an extended header at offset 1024 overrides a file's size");
}

TEST(ATarFile, HasNoLongNameOfADirectoryForTheFileBehindIt) {
  std::string of_name = write_tar({{"@LongLink", std::string("long/\0", 6)}}), directory = write_tar({{"d", ""}});
  of_name.resize(1024), directory.resize(512);
  of_name[156] = 'L', directory[156] = '5';
  const std::string archive = with_sum(of_name) + with_sum(directory) + write_tar({{"short.o", "1"}});
  EXPECT_EQ(read_tar(as_bytes(archive), "a.tar").at(0).name, "short.o");
}

// The bytes and so many zeros behind them, compressed.
std::string packed(const std::string &plain, size_t zeros = 0) {
  const std::string path = opdyno_test::write_text("to_pack", plain);
  const std::string command = concat("(cat '", path, "'; head -c ", zeros, " /dev/zero) | gzip -nc1 > '", path, ".gz'");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return opdyno_test::read_bytes(path + ".gz");
}

// A gzip file ends with the checksum of the content and its size, four bytes each.
TEST(ACompressedTarFile, IsReadToItsEnd) {
  const std::string archive = write_tar({{"a.o", std::string(200000, 'x')}, {"b.o", "1"}}), good = packed(archive);
  const auto entries = read_tar(as_bytes(good), "a.tar");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].content, std::string(200000, 'x'));
  EXPECT_EQ(entries[1].content, "1");
  EXPECT_EQ(tar_refusal(good + "what follows is not read"), "accepted");
  const std::string damaged = "a.tar: its gzip compression is damaged or cut short at offset ";
  for (const size_t size : {good.size() - 1, good.size() - 8, good.size() / 2, size_t{11}, size_t{2}})
    EXPECT_EQ(tar_refusal(good.substr(0, size)), concat(damaged, size));
  std::string sum = good;
  sum[good.size() - 8] = static_cast<char>(sum[good.size() - 8] ^ 1);
  EXPECT_EQ(tar_refusal(sum), concat(damaged, good.size() - 4, ": incorrect data check"));
}

// Zeros shrink to less than a hundredth. 64 MiB may always come out, and 64 times as much as there is.
TEST(ACompressedTarFile, DoesNotUnpackToMuchMoreThanItHas) {
  constexpr size_t kMost = size_t{64} << 20;
  EXPECT_EQ(tar_refusal(packed("", kMost)), "accepted");
  const std::string bomb = packed("", kMost + 1);
  EXPECT_EQ(tar_refusal(bomb), concat("a.tar has ", bomb.size(), " bytes and unpacks to more than ", kMost,
                                      "; if you trust it, unpack it (gunzip) and load the .tar"));
  std::string noise(size_t{5} << 18, '\0');  // 1.25 MiB, which do not shrink
  uint32_t state = 1;
  for (char &byte : noise) state = state * 1664525 + 1013904223, byte = static_cast<char>(state >> 24);
  EXPECT_EQ(tar_refusal(packed(write_tar({{"noise.o", noise}}), kMost)), "accepted");
}

}  // namespace
}  // namespace opd
