// MD5 around the places where its padding takes another block.
#include "params/md5.h"

#include <gtest/gtest.h>

namespace {

std::string md5(const std::string &text, size_t piece) {
  opd::Md5 sum;
  for (size_t at = 0; at < text.size(); at += piece) sum.add(opd::as_bytes(std::string_view(text).substr(at, piece)));
  return sum.finish();
}

TEST(Md5, GivesTheSumsOfRfc1321) {
  EXPECT_EQ(md5("", 1), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5("abc", 3), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5("abcdefghijklmnopqrstuvwxyz", 5), "c3fcd3d76192e4007dfb496cca67e13b");
}

TEST(Md5, GivesTheSumsOfPythonForEveryRestOfABlock) {
  const struct {
    size_t count;
    const char *sum;
  } cases[] = {
      {1, "0cc175b9c0f1b6a831c399e269772661"},    {55, "ef1772b6dff9a122358552954ad0df65"},
      {56, "3b0c8ac703f828b04c6c197006d17218"},   {63, "b06521f39153d618550606be297466d5"},
      {64, "014842d480b571495a4a0363793f7367"},   {65, "c743a45e0d2e6a95cb859adae0248435"},
      {119, "8a7bd0732ed6a28ce75f6dabc90e1613"},  {120, "5f61c0ccad4cac44c75ff505e1f1e537"},
      {1000, "cabe45dcc9ae5b66ba86600cca6b8ba8"},
  };
  for (const auto &[count, sum] : cases)
    for (const size_t piece : {1, 7, 64, 1000}) EXPECT_EQ(md5(std::string(count, 'a'), piece), sum) << count;
}

}  // namespace
