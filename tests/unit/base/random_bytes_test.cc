#include "base/random_bytes.h"

#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>

#include "support/refusal.h"
#include "unit/base/random_source.h"

// In place of libc's.
extern "C" ssize_t getrandom(void *to, size_t size, unsigned flags) {
  const ssize_t count =
      opd::at_getrandom ? opd::at_getrandom(to, size, flags) : opd::random_of_the_system(to, size, flags);
  if (count >= 0) return count;
  errno = static_cast<int>(-count);
  return -1;
}

namespace opd {

ssize_t random_of_the_system(void *to, size_t size, unsigned flags) {
  const ssize_t count = ::syscall(SYS_getrandom, to, size, flags);
  return count < 0 ? -errno : count;
}

namespace {

struct RandomBytes : testing::Test {
  void TearDown() override { at_getrandom = nullptr; }
};

TEST_F(RandomBytes, ComeFromTheSystemEvenIfItGivesThemInParts) {
  unsigned wanted = 0;
  int asked = 0;
  at_getrandom = [&](void *to, size_t size, unsigned flags) -> ssize_t {
    EXPECT_EQ(flags, wanted);
    if (++asked % 2 == 1) return -EINTR;
    const size_t count = std::min<size_t>(size, 3);
    std::fill_n(static_cast<char *>(to), count, static_cast<char>('a' + asked / 2));
    return static_cast<ssize_t>(count);
  };
  std::array<char, 8> bytes{};
  draw_secret_bytes(bytes.data(), bytes.size());
  EXPECT_EQ(std::string(bytes.data(), bytes.size()), "bbbcccdd");
  wanted = GRND_NONBLOCK, asked = 0;
  draw_unique_bytes(bytes.data(), bytes.size());
  EXPECT_EQ(std::string(bytes.data(), bytes.size()), "bbbcccdd");
}

TEST_F(RandomBytes, SecretBytesComeOnlyFromTheSystem) {
  at_getrandom = [](void *, size_t, unsigned) -> ssize_t { return -ENOSYS; };
  int bytes = 0;
  EXPECT_EQ(refusal(OPD_IO, [&] { draw_secret_bytes(&bytes, sizeof bytes); }),
            "the system provides no random bytes: Function not implemented");
  EXPECT_EQ(bytes, 0);
}

TEST_F(RandomBytes, UniqueBytesDifferEvenWithoutTheSystem) {
  at_getrandom = [](void *, size_t, unsigned) -> ssize_t { return -EAGAIN; };
  std::set<uint64_t> words;
  for (int i = 0; i < 1000; ++i)
    for (const uint64_t word : draw_unique<std::array<uint64_t, 3>>()) words.insert(word);
  EXPECT_EQ(words.size(), 3000U);
  std::array<char, 11> bytes{};  // no whole number of words
  draw_unique_bytes(bytes.data(), bytes.size() - 1);
  EXPECT_EQ(bytes.back(), 0);
}

}  // namespace
}  // namespace opd
