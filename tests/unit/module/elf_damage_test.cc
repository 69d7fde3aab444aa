// Damaged libraries: whatever byte outside the code was changed, loading ends with a module or an error, never with a
// signal.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "module/loader.h"
#include "support/c_artifact.h"
#include "support/tries.h"
#include "tvmffi/tvmffi.h"

namespace opd {
namespace {

using opdyno_test::build_library;
using opdyno_test::read_bytes;
using opdyno_test::Tries;

const std::string kDamageSource = opdyno_test::kArtifactHead + R"(
#include <math.h>
#include <string.h>
SLOT(int, TVMFFIFunctionCall, void *, Any *, int32_t, Any *)
SLOT(int, TVMBackendParallelLaunch, int (*)(int, void *, void *), void *, int)
__attribute__((weak)) void *__tvm_ffi__library_ctx;
static int started;
__attribute__((constructor)) static void start(void) { started = 1; }
__attribute__((destructor)) static void stop(void) { started = 0; }
static _Thread_local int counter = 3;
int helper(int x) { return x + ++counter; }
int (*table[])(int) = {helper, helper};
int __tvm_ffi_f(void *self, const Any *args, int32_t n, Any *result) {
  (void)self;
  if (n != 1) return fail("TypeError", "one argument is needed");
  if (!__TVMFFIFunctionCall || !__TVMBackendParallelLaunch || !__tvm_ffi__library_ctx) return fail("RuntimeError", "slots");
  char text[8];
  memcpy(text, &args[0].u, sizeof text);
  result->type = 1;
  result->u.i = table[started](args[0].u.i) + (int)expf((float)(text[1] != 0));
  return 0;
}
int __tvm_ffi_g(void *self, const Any *args, int32_t n, Any *result) { return __tvm_ffi_f(self, args, n, result); }
#ifdef CHOOSES  // functions that the loader chooses by calling others
static int (*choose(void))(int) { return helper; }
int chosen(int x) __attribute__((ifunc("choose")));
static int chosen_here(int x) __attribute__((ifunc("choose")));
int (*pointers[])(int) = {chosen, chosen_here};
int __tvm_ffi_h(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)args, (void)result;
  return chosen(n) > chosen_here(n);
}
#endif
)";

// The bytes of the file without those that decide by themselves what happens, so that nothing can tell that they
// changed: instructions; where packed relocations are used, the words that name initialisers; where the loader chooses
// functions, the types of symbols, for each function could be one that chooses.
std::vector<size_t> checkable(const std::string &file, bool is_packed, bool chooses) {
  std::vector<bool> deciding(file.size());
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, file.data() + header.e_shoff + i * sizeof section, sizeof section);
    const bool names_calls = section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY;
    const bool all = section.sh_flags & SHF_EXECINSTR || (names_calls && is_packed);
    for (size_t at = 0; all && at < section.sh_size; ++at) deciding[section.sh_offset + at] = true;
    for (size_t at = 0; chooses && section.sh_type == SHT_DYNSYM && at < section.sh_size; at += sizeof(Elf64_Sym))
      deciding[section.sh_offset + at + offsetof(Elf64_Sym, st_info)] = true;
  }
  std::vector<size_t> offsets;
  for (size_t i = 0; i < file.size(); ++i)
    if (!deciding[i]) offsets.push_back(i);
  return offsets;
}

// Loads `count` variants that `make` gives.
template <class Make>
Tries load_all(size_t count, Make make) {
  return opdyno_test::run_tries(count, 20, [&] {
    return [&](size_t i) {
      const std::string bytes = make(i);
      try {
        load_module_bytes(as_bytes(bytes), "damaged.so", {});
        return true;
      } catch (const Exception &) { return false; }
    };
  });
}

// AddressSanitizer makes each load several times slower.
#ifdef OPDYNO_ADDRESS_SANITIZER
constexpr bool kFew = true;
#else
constexpr bool kFew = false;
#endif

class DamagedElf : public testing::TestWithParam<const char *> {
 protected:
  static void SetUpTestSuite() { register_tvmffi_symbols(); }
};

TEST_P(DamagedElf, NeverEndsTheProcessIfItsCodeIsIntact) {
  const std::string good = read_bytes(build_library("damaged", kDamageSource, GetParam()));
  const auto linked_with = [](const char *flag) { return std::strstr(GetParam(), flag) != nullptr; };
  const bool is_packed = linked_with("pack-relative");
  try {
    load_module_bytes(as_bytes(good), "good.so", {});
  } catch (const Exception &e) {
    if (is_packed) GTEST_SKIP() << "this system knows no packed relocations: " << e.what();
    FAIL() << e.what();
  }
  const auto offsets = checkable(good, is_packed, linked_with("CHOOSES"));
  // All bits are too slow for every day; those of a byte that cause different trouble are few.
  const std::vector<uint8_t> masks = std::getenv("OPDYNO_TEST_THOROUGH")
                                         ? std::vector<uint8_t>{1, 2, 4, 8, 16, 32, 64, 128, 255, 0}
                                     : kFew && !std::getenv("OPDYNO_TEST_FULL") ? std::vector<uint8_t>{16}
                                                                                : std::vector<uint8_t>{1, 16, 255};
  const Tries tries = load_all(offsets.size() * masks.size(), [&](size_t i) {
    std::string bytes = good;
    char &byte = bytes[offsets[i / masks.size()]];
    const uint8_t mask = masks[i % masks.size()];
    byte = mask ? static_cast<char>(byte ^ mask) : 0;
    return bytes;
  });
  EXPECT_GT(tries.refused, 1000u);
  EXPECT_TRUE(tries.ends.empty()) << tries.describe(
      [&](size_t i) { return concat(offsets[i / masks.size()], "^", int{masks[i % masks.size()]}); });
  RecordProperty("accepted", std::to_string(tries.accepted));
}

TEST_P(DamagedElf, TruncatedFilesAreRefusedAtEveryLength) {
  const std::string good = read_bytes(build_library("cut", kDamageSource, GetParam()));
  constexpr size_t kStep = kFew ? 8 : 1;
  const size_t lengths = (good.size() - 1) / kStep;
  const Tries tries = load_all(lengths, [&](size_t i) { return good.substr(0, i * kStep + 1); });
  EXPECT_TRUE(tries.ends.empty()) << tries.describe([](size_t i) { return concat(i * kStep + 1, " bytes"); });
  EXPECT_EQ(tries.accepted, 0u);
  EXPECT_EQ(tries.refused, lengths);
}

INSTANTIATE_TEST_SUITE_P(Linked, DamagedElf,
                         testing::Values("-lm -s", "-lm -Wl,-z,now -fno-plt",
                                         "-lm -Wl,--hash-style=sysv -Wl,-z,noseparate-code", "-lm -s -DCHOOSES",
                                         "-lm -Wl,-z,pack-relative-relocs"),
                         [](const auto &info) { return "Way" + std::to_string(info.index); });

}  // namespace
}  // namespace opd
