// Names of addresses, also where files are not what was loaded.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "trace_views/host_stacks.h"
#include "trace_views/libdw.h"

namespace opd {
namespace {

__attribute__((noinline)) int function_that_is_not_exported(int x) { return x + static_cast<int>(getpid()); }
uint64_t address_within() { return reinterpret_cast<uint64_t>(&function_that_is_not_exported) + 2; }

std::vector<LoadedObject> own_object() {
  for (const LoadedObject &object : loaded_objects())
    if (object.begin <= address_within() && address_within() < object.end) return {object};
  return {};
}

TEST(LoadedObjects, AreTheProgramAndItsLibrariesInOrder) {
  const auto objects = loaded_objects();
  ASSERT_GE(objects.size(), 2u);
  for (size_t i = 1; i < objects.size(); ++i) EXPECT_LE(objects[i - 1].end, objects[i].begin);
  const auto own = own_object();
  ASSERT_EQ(own.size(), 1u);
  char path[4096] = "";
  ASSERT_GT(readlink("/proc/self/exe", path, sizeof path - 1), 0);
  EXPECT_EQ(own[0].path, path);
  EXPECT_EQ(own[0].build_id.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(HostSymbols, NameFunctionsThatAreNotExported) {
  if (!Libdw::get()) GTEST_SKIP() << "libdw is not installed";
  const auto objects = own_object();
  const HostFrame frame = HostSymbols(objects).frame_of(address_within());
  EXPECT_NE(frame.function.find("function_that_is_not_exported(int)"), std::string::npos) << frame.text();
  EXPECT_EQ(frame.object, &objects[0]);
  EXPECT_EQ(frame.offset, address_within() - objects[0].base);
}

TEST(HostSymbols, TakeAddressesAsPlacesToReturnTo) {
  if (!Libdw::get()) GTEST_SKIP() << "libdw is not installed";
  const auto objects = own_object();
  const HostFrame frame = HostSymbols(objects).frame_of(reinterpret_cast<uint64_t>(&function_that_is_not_exported));
  EXPECT_EQ(frame.function.find("function_that_is_not_exported"), std::string::npos)
      << "a call that is the last instruction of the function before returns there";
}

TEST(HostSymbols, IgnoreAFileWithAnotherBuildId) {
  auto objects = own_object();
  objects[0].build_id = "00112233";
  const HostFrame frame = HostSymbols(objects).frame_of(address_within());
  EXPECT_EQ(frame.function, "");
  EXPECT_EQ(frame.line, 0u);
  EXPECT_EQ(frame.text().substr(0, objects[0].path.size() + 4), objects[0].path + "(+0x");
}

TEST(HostSymbols, TakeAnyPathAndAddress) {
  char directory[] = "/tmp/opdyno_symbols_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string pipe = std::string(directory) + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<LoadedObject> objects = {{0x1000, 0x2000, 0x800, pipe, ""},
                                             {0x3000, 0x4000, 0x3000, "/does/not/exist", "ab"},
                                             {0x5000, 0x6000, 0x5000, directory, ""},
                                             {0x7000, 0x8000, 0x7000, "", ""},
                                             {0x9000, 0xA000, 0x9000, "/proc/self/maps", ""}};
  HostSymbols symbols(objects);
  EXPECT_EQ(symbols.frame_of(0x1010).text(), pipe + "(+0x810)");
  EXPECT_EQ(symbols.frame_of(0x3001).text(), "/does/not/exist(+0x1)");
  EXPECT_EQ(symbols.frame_of(0x5fff).text(), std::string(directory) + "(+0xfff)");
  EXPECT_EQ(symbols.frame_of(0x7001).text(), "(+0x1)");
  EXPECT_EQ(symbols.frame_of(0x9001).text(), "/proc/self/maps(+0x1)");
  for (const uint64_t outside : {0x1ull, 0xFFFull, 0x2000ull, 0x2FFFull, 0xA000ull, 0x7FFFFFFFFFFFFFFFull})
    EXPECT_EQ(symbols.frame_of(outside).object, nullptr) << outside;
  EXPECT_EQ(symbols.frame_of(0x2000).text(), "0x2000");
  EXPECT_EQ(HostSymbols({}).frame_of(0x1234).text(), "0x1234");
  unlink(pipe.c_str());
  rmdir(directory);
}

}  // namespace
}  // namespace opd
