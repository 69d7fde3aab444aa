// What was compiled before is used again only as long as nothing has changed of all that was compiled and linked.
#include <sys/file.h>

#include "support/module_test.h"

namespace opdyno_test {
namespace {

const std::string kHead = "typedef struct { int type, zero; long long i; } Any;\n";
const std::string kValue = R"(
int __tvm_ffi_value(void *self, const Any *args, int n, Any *result) {
  (void)self, (void)args, (void)n;
  result->type = 1, result->i = VALUE;
  return 0;
}
)";

struct SourceInputsTest : testing::Test {
  std::string directory = scratch_directory() + "/with.dot";
  std::string cache = scratch_directory() + "/inputs_cache";
  std::string flags;

  SourceInputsTest() {
    std::filesystem::remove_all(cache);
    std::filesystem::create_directories(directory);
  }
  void write(const std::string &name, const std::string &text) const {
    std::ofstream(directory + "/" + name, std::ios::binary) << text;
  }
  opd_module_options options() const {
    opd_module_options options = options_with(OPD_COPY_ALWAYS);
    options.cache_dir = cache.c_str();
    options.c_flags = flags.empty() ? nullptr : flags.c_str();
    return options;
  }
  int64_t value_of(const std::string &source) const {
    write("source.c", kHead + source + kValue);
    const auto given = options();
    return as_int(Module::load(directory + "/source.c", &given).function("value")());
  }
  // The value follows what `change` writes, though the source and the flags stay as they are.
  void expect_followed(const std::string &source, const std::function<void(int)> &change) const {
    for (const int value : {1, 2, 1}) {
      change(value);
      EXPECT_EQ(value_of(source), value) << source << " with " << flags;
    }
  }
  void header(int value) const { write("v.h", "#define VALUE " + std::to_string(value) + "\n"); }
  void object(int value, const std::string &make) const {
    write("part.c", "int part(void) { return " + std::to_string(value) + "; }\n");
    const std::string command =
        "cd '" + directory + "' && rm -f part.o libpart.a && cc -fPIC -c part.c -o part.o" + make;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
};

TEST_F(SourceInputsTest, FollowsHeadersHoweverTheyAreIncluded) {
  const std::string quoted = "\"" + directory + "/v.h\"";
  for (const std::string text : {"#include \"v.h\"\n", "#import \"v.h\"\n", "#inc\\\nlude \"v.h\"\n",
                                 "%:include \"v.h\"\n", "#define FILE \"v.h\"\n#include FILE\n"})
    expect_followed(text, [&](int value) { header(value); });
  expect_followed("#include " + quoted + "\n", [&](int value) { header(value); });
}

TEST_F(SourceInputsTest, FollowsHeadersThatFlagsLeadTo) {
  for (const std::string &given : {"-I " + directory, "-I" + directory, "--include-directory=" + directory,
                                   "--include-directory " + directory, "-isystem " + directory}) {
    flags = given;
    expect_followed("#include <v.h>\n", [&](int value) { header(value); });
  }
  flags = "-include " + directory + "/v.h";
  expect_followed("", [&](int value) { header(value); });
}

TEST_F(SourceInputsTest, FollowsObjectsAndLibrariesInTheFlags) {
  const std::string source = "int part(void);\n#define VALUE part()\n";
  flags = directory + "/part.o";
  expect_followed(source, [&](int value) { object(value, ""); });
  for (const std::string &given :
       {"-L" + directory + " -lpart", "-L " + directory + " -l part", "-L" + directory + " -l:libpart.a"}) {
    flags = given;
    expect_followed(source, [&](int value) { object(value, " && ar rcs libpart.a part.o"); });
  }
}

TEST_F(SourceInputsTest, FollowsFilesThatTheAssemblerTakesIn) {
  const std::string name = directory + "/v.bin";
  const auto change = [&](int value) { write("v.bin", std::string(1, static_cast<char>(value))); };
  const std::string tail = "extern const char v;\n#define VALUE v\n";
  const std::string begin = "__asm__(\".section .rodata\\nv: ", end = " \\\"" + name + "\\\"\\n.previous\");\n";
  for (const std::string directive : {".incbin", ".INCBIN", ".inc\" \"bin", ".inc\\x62in"})
    expect_followed(begin + directive + end + tail, change);
}

TEST_F(SourceInputsTest, FollowsLinkerScripts) {
  write("libscripted.so", "INPUT(" + directory + "/part.o)\n");
  flags = "-L" + directory + " -lscripted";
  expect_followed("int part(void);\n#define VALUE part()\n", [&](int value) { object(value, ""); });
}

// The text that the preprocessor writes is the same for both, and so is what --version says.
TEST_F(SourceInputsTest, FollowsTheCompilerItself) {
  const std::string compiler = directory + "/cc.sh";
  write("source.c", kHead + "int part(void);\n#define VALUE part()\n" + kValue);
  for (const int value : {1, 2}) {
    const std::string number = std::to_string(value);
    object(value, " && mv part.o part" + number + ".o");
    write("cc.sh", "#!/bin/sh\ncase \" $* \" in *\" -E \"*) exec cc \"$@\";; esac\nexec cc \"$@\" '" + directory +
                       "/part" + number + ".o'\n");
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    auto given = options();
    given.compiler = compiler.c_str();
    EXPECT_EQ(as_int(Module::load(directory + "/source.c", &given).function("value")()), value);
  }
}

// The compiler finds the library in a directory of its own, which no flag names.
TEST_F(SourceInputsTest, FollowsLibrariesOfTheCompilersOwnDirectories) {
  const std::string own = directory + "/own", compiler = directory + "/own.sh";
  std::filesystem::create_directories(own);
  write("own.sh", "#!/bin/sh\ncase \"$*\" in *print-file-name=libpart.a*) echo '" + own +
                      "/libpart.a'; exit;; esac\nexec cc \"$@\" '-L" + own + "'\n");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  write("source.c", kHead + "int part(void);\n#define VALUE part()\n" + kValue);
  flags = "-lpart";
  for (const int value : {1, 2, 1}) {
    object(value, " && ar rcs own/libpart.a part.o");
    auto given = options();
    given.compiler = compiler.c_str();
    EXPECT_EQ(as_int(Module::load(directory + "/source.c", &given).function("value")()), value);
  }
}

// A compiler may name a library's file that is not there. What it links is then not kept, but it can be used.
TEST_F(SourceInputsTest, DoesNotReadFilesThatTheCompilerNamesWrongly) {
  header(5);
  write("source.c", kHead + "#include <v.h>\n" + kValue);
  const std::string compiler = directory + "/wrong.sh";
  flags = "-I " + directory + " -lm";
  for (const char *named : {"/no/such/file", "no/such/file", "", "/"}) {
    write("wrong.sh", std::string("#!/bin/sh\ncase \" $* \" in *print-file-name*) echo '") + named +
                          "'; exit;; esac\nexec cc \"$@\"\n");
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    auto given = options();
    given.compiler = compiler.c_str();
    EXPECT_EQ(as_int(Module::load(directory + "/source.c", &given).function("value")()), 5) << named;
  }
}

TEST_F(SourceInputsTest, UsesTheKeptLibraryIfNoInputChanged) {
  header(5);
  for (const char *libraries : {"", " -Wl,-z,now -lm"}) {
    std::filesystem::remove_all(cache);
    flags = "-I " + directory + libraries;
    EXPECT_EQ(value_of("#include <v.h>\n"), 5);
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(cache)) files.push_back(entry.path());
    ASSERT_EQ(files.size(), 1u) << flags;
    const ino_t before = number_of(files[0]);
    EXPECT_EQ(value_of("#include <v.h>\n"), 5);
    EXPECT_EQ(number_of(files[0]), before) << flags;
  }
}

TEST_F(SourceInputsTest, RemovesOnlyTheFilesOfAKilledProcess) {
  header(1);
  EXPECT_EQ(value_of("#include \"v.h\"\n"), 1);
  const std::string left = cache + "/opdyno-build-killed", used = cache + "/opdyno-build-in-use",
                    other = cache + "/build-of-others";
  for (const auto &path : {left, used, other}) {
    std::filesystem::create_directory(path);
    std::ofstream(path + "/library.so") << "part";
  }
  const int lock = open(used.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_SH), 0);
  EXPECT_EQ(value_of("#include \"v.h\"\n"), 1);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(used + "/library.so"));
  EXPECT_TRUE(std::filesystem::exists(other + "/library.so"));
  close(lock);
}

TEST_F(SourceInputsTest, EndsACompilerThatOutlastsItsTime) {
  write("slow.sh", "#!/bin/sh\nsleep 600 &\nwait\n");
  const std::string compiler = directory + "/slow.sh";
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  write("source.c", kHead + "#define VALUE 1\n" + kValue);
  auto given = options();
  given.compiler = compiler.c_str();
  given.build_timeout_ms = 50;
  expect_error(load(directory + "/source.c", &given), OPD_DEADLINE_EXCEEDED, "was still running");
  EXPECT_TRUE(std::filesystem::is_empty(cache));
}

}  // namespace
}  // namespace opdyno_test
