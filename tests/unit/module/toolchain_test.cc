// The C compiler: which one it is, the order of its words, what the name of a cached result covers.
#include "module/toolchain/toolchain.h"

#include <set>

#include "module/toolchain/compiler.h"
#include "support/c_artifact.h"
#include "support/refusal.h"

namespace opd {
namespace {

using Words = std::vector<std::string>;
using opdyno_test::scratch_directory;
using opdyno_test::write_text;

// Sets a variable of the environment, or removes it if `value` is null, while the object lives.
class Variable {
 public:
  Variable(const char *name, const char *value) : name_(name) {
    if (const char *before = std::getenv(name)) before_ = before, was_set_ = true;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { was_set_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable &) = delete;

 private:
  const char *name_;
  std::string before_;
  bool was_set_ = false;
};

std::string executable(const std::string &name, const std::string &body) {
  const std::string path = write_text(name, "#!/bin/sh\n" + body + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}
const BuildDirectory &build() {
  static const auto *directory = new BuildDirectory(scratch_directory() + "/toolchain", true);
  return *directory;
}
TEST(Toolchain, IsGivenOrNamedByTheEnvironment) {
  const Variable none("CC", nullptr);
  EXPECT_EQ(Toolchain("", "").command({"-c"}), (Words{"cc", "-O2", "-c"}));
  EXPECT_EQ(Toolchain(" gcc\t-m64 ", "").command({"-c"}), (Words{"gcc", "-m64", "-O2", "-c"}));
  EXPECT_EQ(Toolchain("gcc -m64", "").name(), "gcc");
  {
    const Variable named("CC", "clang -w");
    EXPECT_EQ(Toolchain("", "").command({}), (Words{"clang", "-w", "-O2"}));
    EXPECT_EQ(Toolchain("gcc", "").command({}), (Words{"gcc", "-O2"}));
    const Variable empty("CC", "");
    EXPECT_EQ(Toolchain("", "").name(), "cc");
  }
  const std::string path = executable("a compiler", "exit 0");  // a name with a space is a file's if there is one
  EXPECT_EQ(Toolchain(path, "").command({}), (Words{path, "-O2"}));
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [] { Toolchain(" \t", ""); }), "the C compiler's name is empty");
}

TEST(Toolchain, PutsFlagsBeforeFilesAndLibrariesBehindThem) {
  const Toolchain tools("gcc", "-L/x  -lpart\t-O1 a.o -I /y", {});
  EXPECT_EQ(tools.command({"-shared", "x.c"}), (Words{"gcc", "-L/x", "-O1", "-I", "/y", "-shared", "x.c"}));
  Words words{"x.c"};
  tools.add_libraries(words);
  EXPECT_EQ(words, (Words{"x.c", "-lpart", "a.o", "-lm"}));
}

TEST(Toolchain, ShowsAtMost4096BytesOfATool) {
  EXPECT_EQ(shown_output(std::string(4096, 'x')), std::string(4096, 'x'));
  EXPECT_EQ(shown_output(std::string(4097, 'x')), std::string(4096, 'x') + "\n(more left out)");
}

// The hash, and whether it covers all that matters: "hash" or "hash?".
std::string key_of(const std::string &flags, const std::string &compiler = "cc") {
  ContentHash hash;
  const bool is_known = Toolchain(compiler, flags).add_to(hash, build());
  return hash.hex() + (is_known ? "" : "?");
}

TEST(Toolchain, IsHashedWithItsFlagsAndItsEnvironment) {
  const std::string plain = key_of("-O1");
  EXPECT_EQ(plain, key_of("-O1"));
  EXPECT_EQ(plain.size(), 32u);
  std::set<std::string> keys{
      plain, key_of("-O2"), key_of("-O1 -g"), key_of("-g -O1"), key_of("-O1 -lm"), key_of("-O1", "cc -w")};
  EXPECT_EQ(keys.size(), 6u);
  size_t number = keys.size();
  for (const char *name : {"CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_RUN_PATH",
                           "SOURCE_DATE_EPOCH"})
    for (const char *value : {"", "/nowhere"}) {
      if (std::string(name) == "GCC_EXEC_PREFIX" && *value) continue;  // no compiler would be found
      const Variable set(name, value);
      keys.insert(key_of("-O1"));
      EXPECT_EQ(keys.size(), ++number) << name << "=" << value;
    }
  EXPECT_EQ(key_of("-O1"), plain);
}

TEST(Toolchain, IsAskedAgainWhenItsProgramHasChanged) {
  const std::string said = scratch_directory() + "/said";
  const std::string first = executable("versioned-cc", "echo one");
  const std::string before = key_of("-O1", first);
  EXPECT_EQ(before, key_of("-O1", first));
  executable("versioned-cc", "echo two!");
  EXPECT_NE(before, key_of("-O1", first));
}

// GCC starts them by these names.
TEST(Toolchain, IsHashedWithTheAssemblerAndTheLinkerThatItStarts) {
  const std::string directory = opdyno_test::fresh_directory("tools"), path = std::getenv("PATH");
  const Variable first("PATH", (directory + ":" + path).c_str());
  const std::string plain = key_of("-O1"), with_linker = key_of("-O1 -fuse-ld=fake");
  for (const std::string name : {"as", "ld", "ld.fake"}) {
    const auto expect = [&](bool has_changed, const std::string &when) {
      EXPECT_EQ(key_of("-O1") != plain, has_changed && name != "ld.fake") << name << " " << when;
      EXPECT_EQ(key_of("-O1 -fuse-ld=fake") != with_linker, has_changed) << name << " " << when;
    };
    std::filesystem::create_directory(directory + "/" + name);
    expect(false, "is a directory");
    std::filesystem::remove(directory + "/" + name);
    write_text("tools/" + name, "#!/bin/sh\n");
    std::filesystem::permissions(directory + "/" + name, std::filesystem::perms::owner_read);
    expect(false, "cannot be executed");
    std::filesystem::permissions(directory + "/" + name, std::filesystem::perms::owner_all);
    expect(true, "is the first in the path");
    std::filesystem::remove(directory + "/" + name);
    expect(false, "is gone");
  }
}

TEST(Toolchain, IsNotCoveredByAHashIfItsFlagsLeadToUnknownFiles) {
  const std::string directory = scratch_directory() + "/libraries";
  std::filesystem::create_directories(directory);
  const auto write = [&](const std::string &name, const std::string &text) {
    std::ofstream(directory + "/" + name, std::ios::binary) << text;
    return directory + "/" + name;
  };
  const std::string elf(
      "\x7f"
      "ELF"),
      archive = "!<arch>\n";
  write("libshared.so", elf), write("libstatic.a", archive), write("libscript.so", "INPUT(x)"),
      write("odd.name", archive);
  const std::string object = write("part.o", elf), script = write("script.o", "INPUT(x)");
  for (const std::string &flags :
       {std::string("-O2"), std::string("-lm"), "-L" + directory + " -lshared", "-L " + directory + " -l static",
        "-Wl,-L" + directory + " -lstatic", "-L" + directory + " -l:odd.name", object, std::string("-z now"),
        std::string("-Wl,-z,now"), std::string("-u symbol -e start")})
    EXPECT_EQ(key_of(flags).back() == '?', false) << flags;
  for (const std::string &flags :
       {std::string("@file"), std::string("-lno_such_library"), std::string("-T script"), std::string("no_such.o"),
        script, "-L" + directory + " -lscript", "-L" + directory + " -l:none", std::string("-z now loose")})
    EXPECT_EQ(key_of(flags).back(), '?') << flags;
  {
    const Variable path("LIBRARY_PATH", ("/nowhere:" + directory).c_str());
    EXPECT_NE(key_of("-lstatic").back(), '?');
  }
  EXPECT_NE(key_of("-B/tools", "cc").back(), key_of("-O2", "cc -B/tools").back()) << "only flags are looked at";
  // The content of each file that a flag names is part of it.
  for (const std::string &flags : {object, "-include " + object, "-Wl,--list=" + object}) {
    write("part.o", elf + "1");
    const std::string one = key_of(flags);
    write("part.o", elf + "2");
    EXPECT_NE(one, key_of(flags)) << flags;
  }
  for (const std::string &flags : {"-L" + directory + " -lstatic", "-L" + directory + " -lshared"}) {
    write("libshared.so", elf + "1"), write("libstatic.a", archive + "1");
    const std::string one = key_of(flags);
    write("libshared.so", elf + "2"), write("libstatic.a", archive + "2");
    EXPECT_NE(one, key_of(flags)) << flags;
  }
}

TEST(ContentHashes, CoverTheSizesOfTheParts) {
  const auto hash = [](const Words &parts) {
    ContentHash made;
    for (const auto &part : parts) made.add(part);
    return made.hex();
  };
  std::set<std::string> all;
  const Words cases[] = {{},
                         {""},
                         {"", ""},
                         {"ab", "c"},
                         {"a", "bc"},
                         {"abc"},
                         {"c", "ab"},
                         {"12345678"},
                         {"123456789"},
                         {"12345678", "9"},
                         {"1234567812345678"},
                         {"b2345678"},
                         {"a2345678"},
                         {"\0\0"},
                         {std::string(2, 0)},
                         {std::string(3, 0)}};
  for (const auto &parts : cases) all.insert(hash(parts));
  EXPECT_EQ(all.size(), std::size(cases) - 1) << "\"\\0\\0\" is an empty text";
  EXPECT_EQ(hash({"abc"}), hash({"abc"}));
  ContentHash one;
  one.add("x");
  EXPECT_EQ(std::stoull(one.hex().substr(0, 16), nullptr, 16), one.low()) << "the digits begin with the low half";
}

}  // namespace
}  // namespace opd
