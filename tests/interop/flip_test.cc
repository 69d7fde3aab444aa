// One flipped byte in what opdyno reads of a real artifact is an error or a program that runs safely: no signal, no
// hang. Every artifact at hand is tried, at random places that OPDYNO_FUZZ_SEED chooses; OPDYNO_TEST_FULL=1 tries more
// of them, OPDYNO_TEST_THOROUGH=1 all of them.
#include <elf.h>

#include <fstream>
#include <memory>
#include <numeric>
#include <random>

#include "interop/host_functions.h"
#include "support/tries.h"

using namespace opdyno_test;

namespace {

constexpr uint8_t kMasks[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
constexpr unsigned kSeconds = 20;  // for one try, which takes milliseconds

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Flip {
  size_t offset;
  uint8_t mask;
};

// All flips of the bytes at `offsets`; if these are more than `most`, one of each of `most` equal parts of them.
std::vector<Flip> choose(const std::vector<size_t> &offsets, size_t most) {
  const size_t all = offsets.size() * std::size(kMasks);
  const auto flip = [&](size_t i) { return Flip{offsets[i / std::size(kMasks)], kMasks[i % std::size(kMasks)]}; };
  std::vector<Flip> flips;
  if (most >= all || std::getenv("OPDYNO_TEST_THOROUGH")) {
    for (size_t i = 0; i < all; ++i) flips.push_back(flip(i));
    return flips;
  }
  const char *seed = std::getenv("OPDYNO_FUZZ_SEED");
  std::mt19937 random(seed ? static_cast<unsigned>(std::stoul(seed)) : 1);
  for (size_t i = 0; i < most; ++i) {
    const size_t begin = i * all / most, end = (i + 1) * all / most;
    flips.push_back(flip(begin + random() % (end - begin)));
  }
  return flips;
}

template <class Start>
void expect_survived(const std::vector<Flip> &flips, Start start) {
  const Tries tries = run_tries(flips.size(), kSeconds, start);
  EXPECT_EQ(tries.accepted + tries.refused + tries.ends.size(), flips.size());
  EXPECT_GT(tries.refused, 0u);
  EXPECT_TRUE(tries.ends.empty()) << tries.describe(
      [&](size_t i) { return "byte " + std::to_string(flips[i].offset) + " ^ " + std::to_string(flips[i].mask); });
}

size_t most(size_t usual, size_t full) { return std::getenv("OPDYNO_TEST_FULL") ? full : usual; }

std::string flipped(std::string bytes, Flip flip) {
  bytes[flip.offset] = static_cast<char>(bytes[flip.offset] ^ flip.mask);
  return bytes;
}

opd_error *make_vm(const Module &module, Vm &vm) {
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.memory_limit_bytes = 64 << 20;
  return opd_vm_create(module.get(), &options, vm.out());
}

// ---- the program

// A program with the kernels of its undamaged library, and what TVM called of it.
class Program {
 public:
  explicit Program(const std::string &path) : library_(Module::load(path)) {
    check(opd_module_list_imports(library_.get(), imports_.out()));
    std::set<std::string> seen;
    for (const Case &c : cases_of(path))
      if (c.error.empty() && seen.insert(c.function()).second) cases_.push_back(c);
  }

  // Loads a damaged variant and calls its functions; errors are fine. True if it could be loaded.
  bool try_variant(const std::string &bytes) const {
    Executable executable;
    Vm vm;
    if (refused(opd_executable_load_bytes(bytes.data(), bytes.size(), executable.out()))) return false;
    const Module module = executable.to_module();
    for (int32_t i = 0; i < opd_array_count(imports_.get()); ++i) {
      Value kernels;
      check(opd_array_get(imports_.get(), i, kernels.out()));
      check(opd_module_add_import(module.get(), reinterpret_cast<opd_module *>(kernels.view().u.object)));
    }
    if (refused(make_vm(module, vm))) return false;
    for (const Case &c : cases_) call(vm, c);
    return true;
  }

 private:
  static bool refused(opd_error *error) {
    opd_error_release(error);
    return error != nullptr;
  }

  static void call(const Vm &vm, const Case &c) {
    const std::vector<Value> inputs = c.arguments();
    const std::vector<opd_value> args = views_of(inputs);
    opd_call_options options;
    opd_call_options_init(&options);
    options.timeout_ns = 20'000'000;  // a damaged jump may make a loop
    Value result;
    opd_error_release(opd_vm_call(vm.get(), c.function().c_str(), args.data(), static_cast<int32_t>(args.size()),
                                  &options, result.out()));
  }

  Module library_;
  Handle<opd_array> imports_;
  std::vector<Case> cases_;
};

// ---- the library

// Where opdyno reads a library: the headers, what the loader of the system uses, and the embedded modules.
std::vector<size_t> parsed_offsets(const std::string &file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  std::set<size_t> offsets;
  const auto add = [&](size_t begin, size_t size) {
    for (size_t at = begin; at < begin + size; ++at) offsets.insert(at);
  };
  add(0, sizeof header);
  add(header.e_phoff, size_t{header.e_phnum} * sizeof(Elf64_Phdr));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), file.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const auto &s : sections) {
    const bool is_loaders = s.sh_type == SHT_DYNAMIC || s.sh_type == SHT_DYNSYM || s.sh_type == SHT_RELA ||
                            s.sh_type == SHT_HASH || s.sh_type == SHT_GNU_HASH || s.sh_type == SHT_GNU_versym ||
                            s.sh_type == SHT_GNU_verneed || (s.sh_type == SHT_STRTAB && s.sh_flags & SHF_ALLOC);
    if (is_loaders) add(s.sh_offset, s.sh_size);
    if (s.sh_type != SHT_DYNSYM) continue;
    const char *names = file.data() + sections[s.sh_link].sh_offset;
    for (size_t at = s.sh_offset; at < s.sh_offset + s.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, file.data() + at, sizeof symbol);
      if (std::strcmp(names + symbol.st_name, "__tvm_ffi__library_bin") != 0) continue;
      const Elf64_Shdr &in = sections[symbol.st_shndx];
      add(symbol.st_value - in.sh_addr + in.sh_offset, symbol.st_size);
    }
  }
  return {offsets.begin(), offsets.end()};
}

// Loads a damaged library and binds its program. It is not called: a symbol may name other code now.
bool try_library(const std::string &bytes) {
  Module module;
  if (opd_error *error = opd_module_load_bytes(bytes.data(), bytes.size(), "damaged.so", nullptr, module.out())) {
    opd_error_release(error);
    return false;
  }
  Handle<opd_array> names;
  opd_error_release(opd_module_list_functions(module.get(), names.out()));
  Vm vm;
  opd_error_release(make_vm(module, vm));
  return true;
}

void be_quiet() {
  opd_log_set_callback([](void *, opd_log_level, const char *) {}, nullptr, nullptr);
}

class Flips : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(Flips, InAProgramNeverEndTheProcess) {
  std::string bytes;
  {
    const Module library = Module::load(GetParam());
    if (std::string(library.kind()) != "relax.VMExecutable") GTEST_SKIP() << "kernels alone";
    Executable executable;
    check(opd_executable_from_module(library.get(), executable.out()));
    bytes = executable.save();
  }
  std::vector<size_t> offsets(bytes.size());
  std::iota(offsets.begin(), offsets.end(), size_t{0});
  const auto flips = choose(offsets, most(300, 4000));
  expect_survived(flips, [&] {
    be_quiet();
    define_host_functions();
    return [&, program = std::make_shared<Program>(GetParam())](size_t i) {
      return program->try_variant(flipped(bytes, flips[i]));
    };
  });
}

TEST_P(Flips, InALibraryNeverEndTheProcess) {
  const std::string bytes = read_file(GetParam());
  const auto flips = choose(parsed_offsets(bytes), most(100, 500));
  expect_survived(flips, [&] {
    be_quiet();
    return [&](size_t i) { return try_library(flipped(bytes, flips[i])); };
  });
}

INSTANTIATE_TEST_SUITE_P(Tvm, Flips, testing::ValuesIn(recorded_artifacts({".so"}, Newest::kOnly)),
                         [](const auto &info) { return test_name(info.param, info.index); });
