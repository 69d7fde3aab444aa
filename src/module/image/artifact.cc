#include "module/image/artifact.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "base/fork_mutex.h"

namespace opd {
namespace {

struct Mark {
  std::string_view name, release;
};
constexpr Mark kOldMarks[] = {
    {"__tvm_module_ctx", "0.20 or older"},     {"__tvm_dev_mblob", "0.20 or older"},
    {"__tvm_main__", "0.20 or older"},         {"__TVMFuncCall", "0.20 or older"},
    {"__TVMAPISetLastError", "0.20 or older"}, {"TVMAPISetLastError", "0.20 or older"},
    {"TVMFuncCall", "0.20 or older"},          {"__tvm_ffi_library_ctx", "0.21"},
    {"__tvm_ffi_library_bin", "0.21"},
};

bool has(const ElfFile &file, std::string_view name) {
  const auto symbols = file.symbols();
  return std::ranges::any_of(symbols, [&](const ElfSymbol &s) { return s.name == name; });
}

std::vector<std::string_view> names_of(const ElfFile &file) {
  std::vector<std::string_view> names;
  for (const ElfSymbol &symbol : file.symbols()) names.push_back(symbol.name);
  return names;
}

void check_slot(const ElfFile &file, const ElfSymbol &slot) {
  if (slot.size != sizeof(void *) || slot.value % sizeof(void *) || !file.lies_in(slot.value, slot.size, PF_W) ||
      file.is_loaders(slot.value, slot.size))
    file.bad(slot.entry, slot.name, " at address ", slot.value, " with ", slot.size,
             " bytes is not a place for a pointer");
}

bool is_empty(const ElfFile &file, const ElfSymbol &slot) {
  const Bytes bytes = file.contents(slot.value, slot.size);  // empty if the slot is in zeroed memory (.bss)
  return std::ranges::all_of(bytes, [](uint8_t b) { return b == 0; }) && !file.is_loaders(slot.value, slot.size);
}

#if defined(__x86_64__)
struct Level {
  uint32_t bit;
  const char *name;
};
constexpr Level kLevels[] = {{2, "x86-64-v2"}, {4, "x86-64-v3"}, {8, "x86-64-v4"}};

std::string missing_features(uint32_t level) {
  std::string missing;
  const auto need = [&](const char *name, bool present) {
    if (!present) missing += concat(missing.empty() ? "" : ", ", name);
  };
  __builtin_cpu_init();
  if (level >= 2) {
    need("SSE4.2", __builtin_cpu_supports("sse4.2"));
    need("SSSE3", __builtin_cpu_supports("ssse3"));
    need("POPCNT", __builtin_cpu_supports("popcnt"));
  }
  if (level >= 4) {
    need("AVX2", __builtin_cpu_supports("avx2"));
    need("BMI2", __builtin_cpu_supports("bmi2"));
    need("FMA", __builtin_cpu_supports("fma"));
  }
  if (level >= 8) {
    need("AVX512F", __builtin_cpu_supports("avx512f"));
    need("AVX512BW", __builtin_cpu_supports("avx512bw"));
    need("AVX512CD", __builtin_cpu_supports("avx512cd"));
    need("AVX512DQ", __builtin_cpu_supports("avx512dq"));
    need("AVX512VL", __builtin_cpu_supports("avx512vl"));
  }
  return missing;
}

void check_processor(const ElfFile &file) {
  for (const auto &[bit, name] : kLevels)
    if (file.needed_isa() & bit)
      if (const std::string missing = missing_features(bit); !missing.empty())
        fail(OPD_UNSUPPORTED, file.name(), " needs a processor of level ", name, "; this one lacks ", missing,
             ": build it for this machine");
}
#else
void check_processor(const ElfFile &) {}
#endif

struct ProvidedSymbols {
  ForkSharedMutex guard{LockRank::kSymbols};
  std::unordered_map<std::string_view, void *> addresses;
};
ProvidedSymbols &provided_symbols() {
  static auto *instance = new ProvidedSymbols;  // never destroyed: artifacts may be loaded while the process exits
  return *instance;
}

}  // namespace

void provide_symbols(std::span<const ProvidedSymbol> provided) {
  auto &all = provided_symbols();
  std::unique_lock lock(all.guard);
  for (const auto &[name, address] : provided) all.addresses[name] = address;
}

void *provided_symbol(std::string_view name) {
  auto &all = provided_symbols();
  std::shared_lock lock(all.guard);
  const auto found = all.addresses.find(name);
  return found == all.addresses.end() ? nullptr : found->second;
}

bool uses_tvm_names(const ElfFile &file) {
  const auto symbols = file.symbols();
  return std::ranges::any_of(symbols, [](const ElfSymbol &s) {
    return is_own_tvm_name(s) || (!s.is_defined() && (s.name.starts_with("TVM") || s.name.starts_with("__TVM")));
  });
}

std::string tvm_release(std::span<const std::string_view> symbol_names) {
  const auto has = [&](std::string_view name) { return std::ranges::find(symbol_names, name) != symbol_names.end(); };
  for (const auto &mark : kOldMarks)
    if (has(mark.name)) return std::string(mark.release);
  const bool parts = has("TVMFFIErrorSetRaisedFromCStrParts");
  if (has("__TVMFFIEnvModLookupFromImports") || has("TVMFFIEnvModLookupFromImports") || has("__TVMFFIHandleInitOnce"))
    return "0.26 or newer";
  const bool env = has("__TVMBackendGetFuncFromEnv") || has("TVMBackendGetFuncFromEnv");
  if (env) return parts ? "0.24 or 0.25" : has("__TVMFFIErrorSetRaisedFromCStr") ? "0.22 or 0.23" : "0.25 or older";
  if (parts) return "0.24 or newer";
  return has("__TVMFFIErrorSetRaisedFromCStr") ? "0.22 or 0.23" : "";
}

std::string tvm_release(const ElfFile &file) { return tvm_release(names_of(file)); }

std::string system_prefix(std::span<const std::string_view> symbol_names) {
  std::set<std::string_view> prefixes;
  for (const std::string_view name : symbol_names)
    for (const std::string_view own : {kBlobSymbol, kContextSymbol})
      if (name.ends_with(own) && name != own) prefixes.insert(name.substr(0, name.size() - own.size()));
  return prefixes.size() == 1 ? std::string(*prefixes.begin()) : "";
}

std::string system_prefix(const ElfFile &file) { return system_prefix(names_of(file)); }

void require_loadable(const ElfFile &file) {
  for (const auto &mark : kOldMarks)
    if (has(file, mark.name))
      fail(OPD_UNSUPPORTED, file.name(), " was made by TVM ", mark.release, " (it has the symbol ", mark.name,
           "), which has another calling convention; export the model again with TVM 0.22 to 0.27");
  check_processor(file);
  for (const ElfSymbol &symbol : file.symbols()) {
    if (symbol.is_needed() && symbol.name.starts_with("TVM") && !provided_symbol(symbol.name))
      fail(OPD_UNSUPPORTED, file.name(), " calls ", symbol.name, ", which this version of opdyno does not offer");
    if (symbol.is_defined() && symbol.name.ends_with(kContextSymbol)) check_slot(file, symbol);
    if (!is_context_slot(symbol)) continue;
    if (provided_symbol(symbol.name.substr(2))) check_slot(file, symbol);
    else if (is_empty(file, symbol))
      fail(OPD_UNSUPPORTED, file.name(), " expects its loader to provide ", symbol.name.substr(2),
           ", which this version of opdyno does not offer");
  }
}

}  // namespace opd
