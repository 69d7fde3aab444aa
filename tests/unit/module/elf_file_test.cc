// ELF files: what is told of good ones, and how others are refused.
#include "module/elf/elf_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "module/image/artifact.h"
#include "module/image/library_image.h"
#include "support/c_artifact.h"
#include "tvmffi/tvmffi.h"

namespace opd {
namespace {

using opdyno_test::build_library;
using opdyno_test::kArtifactHead;
using opdyno_test::read_bytes;

const std::string kFileSource = kArtifactHead + R"(
SLOT(int, TVMBackendParallelLaunch, int (*)(int, void *, void *), void *, int)
int __tvm_ffi_f(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)result;
  return n == 1 && __TVMBackendParallelLaunch ? 0 : fail("TypeError", "one argument is needed");
}
)";

std::string good_bytes() {
  static const std::string bytes = read_bytes(build_library("good", kFileSource, "-Wl,-soname,good.so"));
  return bytes;
}

struct Refusal {
  opd_code code;
  std::string message;
};
Refusal elf_refusal(const std::string &bytes) {
  try {
    ElfFile(as_bytes(bytes), "model.so");
  } catch (const Exception &e) { return {e.error()->code, e.what()}; }
  return {OPD_OK, "accepted"};
}

template <class T>
std::string with(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

const ElfSymbol *find(const ElfFile &file, std::string_view name) {
  const auto symbols = file.symbols();
  const auto found = std::find_if(symbols.begin(), symbols.end(), [&](const ElfSymbol &s) { return s.name == name; });
  return found == symbols.end() ? nullptr : &*found;
}

TEST(ElfFile, RefusesASymbolThatIsDefinedAndImported) {
  const std::string bytes = good_bytes();
  const ElfFile file(as_bytes(bytes), "good.so");
  const auto *defined = find(file, "__tvm_ffi_f"), *needed = find(file, "TVMFFIErrorSetRaisedFromCStrParts");
  uint32_t name;
  std::memcpy(&name, bytes.data() + defined->entry, sizeof name);
  const auto [code, message] = elf_refusal(with(bytes, needed->entry, name));
  EXPECT_EQ(code, OPD_BAD_FORMAT);
  EXPECT_NE(message.find("symbol __tvm_ffi_f is both defined and undefined"), std::string::npos) << message;
}

TEST(ElfFile, RefusesALibraryThatIsNeededWithoutAName) {
  const std::string bytes =
      read_bytes(build_library("needs", "#include <math.h>\ndouble f(double x) { return exp(x); }", "-lm"));
  const ElfFile file(as_bytes(bytes), "needs.so");
  ASSERT_FALSE(file.needed_entries().empty());
  const auto [code, message] =
      elf_refusal(with(bytes, file.needed_entries()[0] + offsetof(Elf64_Dyn, d_un), uint64_t{0}));
  EXPECT_EQ(code, OPD_BAD_FORMAT);
  EXPECT_NE(message.find("a library without a name"), std::string::npos) << message;
}

TEST(ElfFile, HasAtMost256ProgramHeaders) {
  const auto refused = [](uint16_t count) {
    return elf_refusal(with(good_bytes(), offsetof(Elf64_Ehdr, e_phnum), count)).message;
  };
  EXPECT_NE(refused(257).find("257 program headers"), std::string::npos) << refused(257);
  EXPECT_EQ(refused(256).find("256 program headers"), std::string::npos) << refused(256);
}

TEST(ElfFile, RefusesVersionsThatLeaveTheirTable) {
  const std::string bytes =
      read_bytes(build_library("versions", "#include <math.h>\ndouble f(double x) { return exp(x); }", "-lm"));
  const ElfFile file(as_bytes(bytes), "versions.so");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  size_t place = 0;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == SHT_GNU_verneed) place = section.sh_offset;
  }
  ASSERT_NE(place, 0u);
  Elf64_Verneed need;
  std::memcpy(&need, bytes.data() + place, sizeof need);
  const size_t aux = place + need.vn_aux, next = aux + offsetof(Elf64_Vernaux, vna_next);
  for (int i = 1; i < need.vn_cnt; ++i) ASSERT_NE(bytes[next], 0);
  // The loader goes from one to the next until there is none, and never looks at the count.
  for (const auto &[stated, step] :
       {std::pair<Elf64_Half, uint32_t>{1, 16}, {0xffff, static_cast<uint32_t>(bytes.size() - aux - 16)}})
    EXPECT_NE(elf_refusal(with(with(bytes, next, step), place + offsetof(Elf64_Verneed, vn_cnt), stated)).code, OPD_OK)
        << step;
}

TEST(ElfFile, FindsSymbolsAndTheirSegments) {
  const std::string bytes = good_bytes();
  const ElfFile file(as_bytes(bytes), "good.so");
  const auto *function = find(file, "__tvm_ffi_f"), *slot = find(file, "__TVMBackendParallelLaunch"),
             *needed = find(file, "TVMFFIErrorSetRaisedFromCStrParts");
  ASSERT_TRUE(function && slot && needed);
  EXPECT_TRUE(function->is_defined() && file.lies_in(function->value, function->size, PF_X));
  EXPECT_TRUE(is_context_slot(*slot) && file.lies_in(slot->value, 8, PF_W));
  EXPECT_EQ(slot->binding, STB_WEAK);
  EXPECT_TRUE(needed->is_needed());
  EXPECT_NE(file.soname_entry(), 0u);
  EXPECT_TRUE(uses_tvm_names(file));
}

TEST(ElfFile, ReadsTablesOfBothHashStyles) {
  for (const char *style : {"gnu", "sysv", "both"}) {
    const std::string bytes =
        read_bytes(build_library("hashed", kFileSource, std::string("-Wl,--hash-style=") + style));
    const ElfFile file(as_bytes(bytes), "hashed.so");
    EXPECT_NE(find(file, "__tvm_ffi_f"), nullptr) << style;
  }
}

TEST(ElfFile, SaysHowItIsBound) {
  for (const auto &[flags, now] : {std::pair{"-Wl,-z,lazy", false}, {"-Wl,-z,now", true}}) {
    const std::string bytes = read_bytes(build_library("bound", kFileSource, flags));
    EXPECT_EQ(ElfFile(as_bytes(bytes), "bound.so").binds_now(), now);
  }
}

TEST(ElfFile, RefusesOtherMachinesAndOtherKindsOfFile) {
  const std::string good = good_bytes();
  const auto other =
      with<uint16_t>(good, offsetof(Elf64_Ehdr, e_machine), kMachine == EM_X86_64 ? EM_AARCH64 : EM_X86_64);
  EXPECT_EQ(elf_refusal(other).code, OPD_UNSUPPORTED);
  EXPECT_NE(elf_refusal(other).message.find("this process runs on"), std::string::npos) << elf_refusal(other).message;
  EXPECT_EQ(elf_refusal(with<uint8_t>(good, EI_CLASS, ELFCLASS32)).code, OPD_UNSUPPORTED);
  EXPECT_EQ(elf_refusal(with<uint8_t>(good, EI_DATA, ELFDATA2MSB)).code, OPD_UNSUPPORTED);
  EXPECT_NE(elf_refusal(with<uint16_t>(good, offsetof(Elf64_Ehdr, e_type), ET_REL)).message.find("object file"),
            std::string::npos);
  EXPECT_NE(elf_refusal(with<uint16_t>(good, offsetof(Elf64_Ehdr, e_type), ET_EXEC)).message.find("program"),
            std::string::npos);
  EXPECT_EQ(elf_refusal("not an ELF file").code, OPD_BAD_FORMAT);
}

TEST(ElfFile, RefusesAFileThatWasCutShortAndSaysSo) {
  const std::string good = good_bytes();
  const auto told = elf_refusal(good.substr(0, good.size() - 1));
  EXPECT_EQ(told.code, OPD_BAD_FORMAT);
  EXPECT_NE(told.message.find("cut short"), std::string::npos) << told.message;
  EXPECT_NE(told.message.find("offset"), std::string::npos) << told.message;
}

TEST(ElfFile, RefusesAnExecutableStack) {
  const std::string bytes = read_bytes(build_library("stack", kFileSource, "-Wl,-z,execstack"));
  EXPECT_EQ(elf_refusal(bytes).code, OPD_UNSUPPORTED);
  EXPECT_NE(elf_refusal(bytes).message.find("executable stack"), std::string::npos);
}

// The libraries that this program has loaded: other directories of the system may hold those of another architecture.
TEST(ElfFile, AcceptsTheLoadedLibrariesOfTheSystem) {
  std::set<std::string> paths;
  const auto add = [](dl_phdr_info *library, size_t, void *data) {
    const std::string path = library->dlpi_name;
    if (path.find("/lib") != std::string::npos) static_cast<std::set<std::string> *>(data)->insert(path);
    return 0;
  };
  dl_iterate_phdr(add, &paths);
  EXPECT_GT(paths.size(), 2u) << "at least the libraries of C, of C++ and libm";
  for (const std::string &path : paths) {
    const std::string bytes = read_bytes(path);
    EXPECT_EQ(elf_refusal(bytes).message, "accepted") << path;
    EXPECT_FALSE(uses_tvm_names(ElfFile(as_bytes(bytes), path)));
  }
}

// ---- what the symbols tell

std::string release_of(const std::string &source) {
  const std::string bytes = read_bytes(build_library("release", source));
  return tvm_release(ElfFile(as_bytes(bytes), "release.so"));
}

TEST(TvmRelease, IsFoundFromSlotNames) {
  const std::string slots = "#define S(n) __attribute__((weak)) void *__##n;\n";
  const std::string parts =
      "extern void TVMFFIErrorSetRaisedFromCStrParts(void); void f(void) { TVMFFIErrorSetRaisedFromCStrParts(); }\n";
  EXPECT_EQ(release_of(slots + "S(TVMFFIEnvModLookupFromImports)"), "0.26 or newer");
  EXPECT_EQ(release_of(slots + "S(TVMFFIHandleInitOnce)"), "0.26 or newer");
  EXPECT_EQ(release_of(slots + parts + "S(TVMBackendGetFuncFromEnv)"), "0.24 or 0.25");
  EXPECT_EQ(release_of(slots + "S(TVMBackendGetFuncFromEnv) S(TVMFFIErrorSetRaisedFromCStr)"), "0.22 or 0.23");
  EXPECT_EQ(release_of(slots + "S(TVMBackendGetFuncFromEnv)"), "0.25 or older");
  EXPECT_EQ(release_of(parts), "0.24 or newer");
  EXPECT_EQ(release_of(slots + "S(TVMFFIErrorSetRaisedFromCStr)"), "0.22 or 0.23");
  EXPECT_EQ(release_of("void *__tvm_ffi_library_ctx;"), "0.21");
  EXPECT_EQ(release_of("void *__tvm_module_ctx;"), "0.20 or older");
  EXPECT_EQ(release_of("int x;"), "");
}

std::string unloadable(const std::string &source) {
  register_tvmffi_symbols();
  const std::string bytes = read_bytes(build_library("unloadable", source));
  try {
    require_loadable(ElfFile(as_bytes(bytes), "unloadable.so"));
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_UNSUPPORTED) << e.what();
    return e.what();
  }
  return "";
}

TEST(Artifact, RefusesOtherCallingConventionsAndUnknownNames) {
  EXPECT_NE(unloadable("void *__tvm_module_ctx;").find("TVM 0.20 or older"), std::string::npos);
  EXPECT_NE(unloadable("const char __tvm_dev_mblob[8];").find("export the model again"), std::string::npos);
  EXPECT_NE(unloadable("void *__tvm_ffi_library_ctx;").find("TVM 0.21"), std::string::npos);
  EXPECT_NE(unloadable("extern void TVMNewThing(void); void f(void) { TVMNewThing(); }").find("calls TVMNewThing"),
            std::string::npos);
  EXPECT_NE(unloadable("__attribute__((weak)) void *__TVMNewSlot;").find("provide TVMNewSlot"), std::string::npos);
  EXPECT_EQ(unloadable("extern void TVMOptional(void) __attribute__((weak)); int f(void) { return TVMOptional != 0; }"),
            "");
  EXPECT_EQ(unloadable("int x; void *__TVMFilled = &x;"), "");  // its own business
}

TEST(Artifact, RefusesASlotThatCannotHoldAPointer) {
  register_tvmffi_symbols();
  for (const char *source :
       {"__attribute__((weak)) int __TVMFFIFunctionCall;", "const char __tvm_ffi__library_ctx[8] = \"1234567\";",
        "int x; void *__TVMFFIFunctionCall = &x;"}) {
    const std::string bytes = read_bytes(build_library("slots", source));
    EXPECT_THROW(require_loadable(ElfFile(as_bytes(bytes), "slots.so")), Exception) << source;
  }
}

#if defined(__x86_64__)
TEST(Artifact, NamesTheProcessorFeaturesThatAreMissing) {
  const std::string bytes = read_bytes(build_library("level", "int level(void) { return 4; }", "-Wl,-z,x86-64-v4"));
  const ElfFile file(as_bytes(bytes), "level.so");
  EXPECT_TRUE(file.needed_isa() & 8);
  try {
    require_loadable(file);
    EXPECT_TRUE(__builtin_cpu_supports("avx512f"));
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_UNSUPPORTED);
    EXPECT_NE(std::string(e.what()).find("x86-64-v4"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("AVX512"), std::string::npos) << e.what();
  }
}
#endif

// ---- the private copy

TEST(LibraryCopy, IsAFileWithItsEdits) {
  const auto copy = LibraryCopy::in_memory("/some/where/model.so");
  ASSERT_TRUE(copy.exists());
  copy.write(as_bytes("hello world"), {{6, "W"}, {0, "H"}});
  EXPECT_EQ(read_bytes(copy.path()), "Hello World");
}

TEST(LibraryCopy, StaysAsItIsOnceItIsSealed) {
  const auto copy = LibraryCopy::in_memory("model.so");
  const InputFile file(opdyno_test::write_text("to_copy", "hello world"));
  EXPECT_EQ(copy.fill_from(file), 11u);
  copy.write({}, {{6, "W"}});
  copy.seal();
  EXPECT_EQ(read_bytes(copy.path()), "hello World");
  EXPECT_THROW(copy.write({}, {{0, "H"}}), Exception);
  EXPECT_NE(::ftruncate(copy.fd(), 3), 0);
  EXPECT_FALSE(copy.is_mapped(nullptr));
}

TEST(LibraryCopy, KeepsHolesAsHoles) {
  const std::string path = opdyno_test::write_text("sparse", "begin");
  constexpr off_t kMiddle = 8 << 20, kSize = off_t{1} << 40;
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(::pwrite(fd, "middle", 6, kMiddle), 6);
  if (::ftruncate(fd, kSize) != 0) GTEST_SKIP() << "the file system has no files of 1 TiB";
  ::close(fd);
  const auto copy = LibraryCopy::in_memory("sparse.so");
  EXPECT_EQ(copy.fill_from(InputFile(path)), static_cast<size_t>(kSize));
  struct stat info {};
  ASSERT_EQ(::fstat(copy.fd(), &info), 0);
  EXPECT_EQ(info.st_size, kSize);
  EXPECT_LT(info.st_blocks, 1 << 14) << "in units of 512 bytes";
  std::string begin(5, 0), middle(6, 0);
  EXPECT_EQ(::pread(copy.fd(), begin.data(), 5, 0), 5);
  EXPECT_EQ(::pread(copy.fd(), middle.data(), 6, kMiddle), 6);
  EXPECT_EQ(begin + " " + middle, "begin middle");
}

TEST(LibraryCopy, TakesFilesOfUnknownSize) {
  const auto copy = LibraryCopy::in_memory("status");
  EXPECT_GT(copy.fill_from(InputFile("/proc/self/status")), 100u);
  EXPECT_TRUE(read_bytes(copy.path()).starts_with("Name:"));
}

TEST(LibraryCopy, OnDiskUsesTheFirstUsableDirectory) {
  auto copy = LibraryCopy::on_disk("model.so", {"/nonexistent", opdyno_test::scratch_directory()});
  const std::string path = copy.path();
  EXPECT_TRUE(path.starts_with(opdyno_test::scratch_directory()));
  copy.write(as_bytes("x"), {});
  copy.loaded();
  EXPECT_FALSE(std::filesystem::exists(path));  // no trace while it is mapped
  EXPECT_THROW(LibraryCopy::on_disk("model.so", {"/nonexistent"}), Exception);
}

}  // namespace
}  // namespace opd
