#include "trace_views/host_stacks.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <type_traits>
#include <unordered_map>

#include "base/bytes.h"
#include "base/fork_mutex.h"
#include "base/text.h"
#include "trace/model/names.h"
#include "trace_views/libdw.h"

namespace opd {

bool Libdw::load() {
  const LoaderCall call;
  void *const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  const auto find = [&](auto &function, const char *name) {
    void *const found = dlsym(library, name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    return found != nullptr;
  };
#define FIND(NAME) find(NAME, "dwfl_" #NAME)
#define FIND_DWARF(NAME) find(NAME, "dwarf_" #NAME)
  return FIND(begin) && FIND(end) && FIND(report_begin_add) && FIND(report_elf) && FIND(report_end) &&
         FIND(module_build_id) && FIND(module_addrname) && FIND(module_getsrc) && FIND(lineinfo) &&
         FIND(build_id_find_debuginfo) && FIND(module_nextcu) && FIND_DWARF(haspc) && FIND_DWARF(getsrc_die) &&
         FIND_DWARF(linesrc) && FIND_DWARF(lineno);
#undef FIND
#undef FIND_DWARF
}

const Libdw *Libdw::get() {
  struct Loaded {
    Libdw functions{};
    bool is_there = functions.load();
  };
  static const Loaded loaded{};
  return loaded.is_there ? &loaded.functions : nullptr;
}

namespace {

std::string plain_name(const char *symbol) {
  int status = 0;
  char *const plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = plain ? plain : symbol;
  std::free(plain);
  return name;
}

std::string hexadecimal(uint64_t number) {
  char digits[16];
  return {digits, std::to_chars(digits, std::end(digits), number, 16).ptr};
}

int open_regular_file(const std::string &path) {  // -1: not found
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat found;
  if (file >= 0 && (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode))) return ::close(file), -1;
  return file;
}

// Queries the dynamic loader, which has only the names of exported functions.
void add_exported_name(const LoadedObject &object, uint64_t address, HostSymbol &symbol) {
  const LoaderCall call;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void *>(address), &info) && info.dli_sname &&
      reinterpret_cast<uint64_t>(info.dli_fbase) == object.begin)
    symbol.function = plain_name(info.dli_sname);
}

// Symbols that the process has already found: all formats of a trace look up the same ones.
class KnownSymbols {
 public:
  static KnownSymbols &get() {
    static auto *known = new KnownSymbols;  // never destroyed: threads may write traces while the process exits
    return *known;
  }
  static std::string key(const LoadedObject &object, uint64_t address) {
    return concat(object.build_id, " ", address - object.base, " ", object.path);
  }

  bool find(const std::string &key, HostSymbol &symbol) {
    std::scoped_lock lock(guard_);
    const auto found = symbols_.find(key);
    return found != symbols_.end() && (symbol = found->second, true);
  }
  void add(const std::string &key, const HostSymbol &symbol) {
    std::scoped_lock lock(guard_);
    if (symbols_.size() >= kMost) symbols_.clear();
    symbols_.emplace(key, symbol);
  }

 private:
  static constexpr size_t kMost = size_t{1} << 16;
  ForkMutex guard_{LockRank::kHostSymbols};
  std::unordered_map<std::string, HostSymbol> symbols_;
};

}  // namespace

std::string HostFrame::text() const {
  if (!object && function.empty()) return file;
  const std::string place = line     ? concat(file, "(", line, ")")
                            : object ? concat(file, "(+0x", hexadecimal(offset), ")")
                                     : file;
  return function.empty() ? place : concat(place, ": ", function);
}

// The objects that libdw has opened, each at its own address, in one session.
struct HostSymbols::Files {
  Files() {
    if (!libdw) return;
    callbacks.find_debuginfo = libdw->build_id_find_debuginfo;
    session = libdw->begin(&callbacks);
  }
  Files(const Files &) = delete;
  ~Files() {
    if (session) libdw->end(session);
  }

  Libdw::Module *module_of(const LoadedObject &object) {
    const auto [place, fresh] = modules.try_emplace(&object, nullptr);
    if (fresh && session) place->second = open(object);
    return place->second;
  }

  // Returns false if libdw has nothing about the address.
  bool describe(const LoadedObject &object, uint64_t address, HostSymbol &symbol) {
    Libdw::Module *const module = module_of(object);
    if (!module) return false;
    if (const char *name = libdw->module_addrname(module, address)) symbol.function = plain_name(name);
    if (!find_line(module, address, symbol)) find_line_in_units(module, address, symbol);
    return !symbol.function.empty() || symbol.line;
  }

  const Libdw *const libdw = Libdw::get();
  Libdw::Callbacks callbacks{};
  Libdw::Session *session = nullptr;                                  // null: there is no libdw
  std::unordered_map<const LoadedObject *, Libdw::Module *> modules;  // null: the file differs from the loaded one

 private:
  Libdw::Module *open(const LoadedObject &object) {
    const int file = open_regular_file(object.path);
    if (file < 0) return nullptr;
    libdw->report_begin_add(session);
    Libdw::Module *const module =
        libdw->report_elf(session, object.path.c_str(), object.path.c_str(), file, object.base, true);
    if (!module) ::close(file);
    libdw->report_end(session, nullptr, nullptr);
    return module && build_id_of(module) == object.build_id ? module : nullptr;
  }

  bool find_line(Libdw::Module *module, uint64_t address, HostSymbol &symbol) const {
    int line = 0;
    Libdw::Line *const source = libdw->module_getsrc(module, address);
    const char *file = source ? libdw->lineinfo(source, nullptr, &line, nullptr, nullptr, nullptr) : nullptr;
    if (!file || line <= 0) return false;
    symbol.file = file, symbol.line = static_cast<uint32_t>(line);
    return true;
  }
  // For compilers, such as clang, that write no table of the units' addresses.
  void find_line_in_units(Libdw::Module *module, uint64_t address, HostSymbol &symbol) const {
    uint64_t offset = 0;
    Libdw::Unit *unit = nullptr;
    while ((unit = libdw->module_nextcu(module, unit, &offset))) {
      if (libdw->haspc(unit, address - offset) != 1) continue;
      int line = 0;
      Libdw::UnitLine *const source = libdw->getsrc_die(unit, address - offset);
      const char *file = source ? libdw->linesrc(source, nullptr, nullptr) : nullptr;
      if (!file || libdw->lineno(source, &line) != 0 || line <= 0) continue;
      symbol.file = file, symbol.line = static_cast<uint32_t>(line);
      return;
    }
  }

  std::string build_id_of(Libdw::Module *module) const {
    const unsigned char *bytes = nullptr;
    uint64_t address = 0;
    const int size = libdw->module_build_id(module, &bytes, &address);
    return hex({bytes, static_cast<size_t>(std::max(size, 0))});
  }
};

HostSymbols::HostSymbols(std::span<const LoadedObject> objects) : objects_(objects) {}
HostSymbols::~HostSymbols() = default;

HostSymbol HostSymbols::symbol_of(const LoadedObject &object, uint64_t address) {
  HostSymbol symbol;
  const std::string key = KnownSymbols::key(object, address);
  if (KnownSymbols::get().find(key, symbol)) return symbol;
  if (!files_) files_ = std::make_unique<Files>();
  symbol.file = object.path;
  if (!files_->describe(object, address, symbol)) add_exported_name(object, address, symbol);
  KnownSymbols::get().add(key, symbol);
  return symbol;
}

HostFrame HostSymbols::native_frame(uint64_t address) {
  HostFrame frame;
  const auto after = std::ranges::upper_bound(objects_, address, {}, &LoadedObject::begin);
  if (after == objects_.begin() || address >= (after - 1)->end) {
    frame.file = concat("0x", hexadecimal(address));
    return frame;
  }
  const LoadedObject &object = *(after - 1);
  // A return address may belong to the next line, or to the next function.
  static_cast<HostSymbol &>(frame) = symbol_of(object, address - 1);
  frame.object = &object;
  frame.offset = address - object.base;
  return frame;
}

HostFrame HostSymbols::frame_of(uint64_t word) {
  if (!is_language_frame(word)) return native_frame(word);
  const LanguageFrame named = unpack_frame(word);
  HostFrame frame;
  frame.function = name_text(named.function);
  frame.file = name_text(named.file);
  frame.line = named.line;
  return frame;
}

// ---- the stacks of a trace

HostStacks::HostStacks(const Trace &trace, bool is_wanted) : is_recorded_(is_wanted && trace.parts.has_stacks) {
  for (const TraceProcess &process : trace.parts.processes) processes_.emplace_back(process);
}

uint32_t HostStacks::function_of(const HostFrame &frame, const std::string &text) {
  const std::string key = frame.function.empty() ? text : concat(frame.file, "\n", frame.function);
  return functions_.try_emplace(key, static_cast<uint32_t>(functions_.size())).first->second;
}

HostStacks::FrameNumber HostStacks::frame_of(uint64_t word, Process &process) {
  const auto [place, is_new_word] = process.by_word.try_emplace(word);
  if (!is_new_word) return place->second;
  HostFrame frame = process.symbols.frame_of(word);
  std::string text = frame.text();
  std::ranges::replace(text, ';', ',');
  const auto [same, is_new] = by_text_.try_emplace(text, static_cast<FrameNumber>(frames_.size()));
  if (is_new) {
    const uint32_t function = function_of(frame, text);
    frames_.push_back({std::move(frame), std::move(text), function});
  }
  return place->second = same->second;
}

const HostStacks::Frames &HostStacks::frames_of(StackNumber stack) {
  const auto [place, fresh] = frames_of_.try_emplace(stack);
  const auto [process, id] = stacks_[stack];
  if (fresh)
    for (const uint64_t word : stack_frames(id)) place->second.push_back(frame_of(word, processes_[process]));
  return place->second;
}

const HostStacks::Frames &HostStacks::frames_within(StackNumber stack, StackNumber outer) {
  const auto [place, fresh] = within_.try_emplace(uint64_t{stack} << 32 | outer);
  if (!fresh) return place->second;
  const Frames &inner_frames = frames_of(stack), &outer_frames = frames_of(outer);
  const auto is_same_function = [this](FrameNumber a, FrameNumber b) {
    return frames_[a].function == frames_[b].function;
  };
  const auto differ = std::mismatch(inner_frames.rbegin(), inner_frames.rend(), outer_frames.rbegin(),
                                    outer_frames.rend(), is_same_function);
  place->second.assign(differ.first, inner_frames.rend());
  return place->second;
}

const std::string &HostStacks::call_stack(StackNumber stack, size_t most) {
  const uint64_t count = std::min<uint64_t>(most, UINT32_MAX);
  const auto [place, fresh] = call_stacks_.try_emplace(uint64_t{stack} << 32 | count);
  if (!fresh) return place->second;
  for (const FrameNumber number : frames_of(stack)) {
    if (most-- == 0) break;
    place->second.append(text(number)).append(1, ';');
  }
  return place->second;
}

HostStacks::StackNumber HostStacks::number_of(const Event &event, uint32_t process) {
  const StackId stack = is_recorded_ ? stack_of(event) : 0;
  if (!stack) return 0;
  const auto [place, fresh] =
      numbers_.try_emplace(uint64_t{process} << 32 | stack, static_cast<StackNumber>(stacks_.size()));
  if (fresh) stacks_.emplace_back(process, stack);
  return place->second;
}

std::vector<HostStacks::StackNumber> HostStacks::stacks_of(const ThreadSpans &thread) {
  std::vector<StackNumber> stacks(thread.spans.size());
  if (!is_recorded_) return stacks;
  for (size_t i = 0; i < stacks.size(); ++i) {  // a span comes before the spans within it
    const Span &span = thread.spans[i];
    stacks[i] = number_of(*span.event, thread.track->process);
    if (!stacks[i] && span.parent != Span::kNone) stacks[i] = stacks[span.parent];
  }
  return stacks;
}

}  // namespace opd
