// Passes ranges and marks to the collector of a tool, by Intel's Instrumentation and Tracing Technology API (ITT).
#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/fork_mutex.h"
#include "trace/record/ranges.h"

namespace opd {
namespace {

// ---- structures of the API, as collectors read them

struct IttId {
  uint64_t words[3];
};

struct IttDomain {
  volatile int flags;  // 0: the collector has switched it off
  const char *name;
  void *wide_name;
  int extra_number;
  void *extra;
  IttDomain *next;
};

struct IttString {
  const char *text;
  void *wide_text;
  int extra_number;
  void *extra;
  IttString *next;
};

struct IttFunction {  // a collector looks it up by name and stores its address at `place`
  const char *name;
  void **place;
  void *initial;
  void *absent;  // stored if the collector lacks the function
  int group;
};

struct IttGlobal {
  unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
  unsigned long major = 3, minor = 22, build = 20180723;
  volatile long is_initialized = 0, has_mutex = 0, counter = 0;
  pthread_mutex_t mutex{};
  void *library = nullptr;
  void *error_handler = nullptr;
  const char **path = nullptr;
  IttFunction *functions = nullptr;
  IttGlobal *next = nullptr;
  void *threads = nullptr;
  IttDomain *domains = nullptr;
  IttString *strings = nullptr;
  int state = 0;
  void *counters = nullptr;
  unsigned collects_processor_trace = 0;
  void *histograms = nullptr;
};

constexpr int kStructureGroup = 1 << 12, kAllGroups = -1;
constexpr int kTrackScope = 3;  // scope of a marker: the thread

using CreateDomain = IttDomain *(const char *name);
using CreateString = IttString *(const char *text);
using BeginTask = void(const IttDomain *, IttId task, IttId parent, IttString *name);
using EndTask = void(const IttDomain *);
using AddMarker = void(const IttDomain *, IttId, IttString *name, int scope);
using Initialize = void(IttGlobal *, int groups);

// ---- the collector

class Collector {
 public:
  static constexpr const char *kVariable = sizeof(void *) == 8 ? "INTEL_LIBITTNOTIFY64" : "INTEL_LIBITTNOTIFY32";

  // Loads the collector at the first call. Null if there is none.
  static Collector *get() noexcept {
    static Collector *const collector = load();
    return collector;
  }

  bool is_on() const { return domain_->flags != 0; }
  void begin(NameId name) {
    if (IttString *const string = is_on() ? string_of(name) : nullptr) begin_(domain_, {}, {}, string);
  }
  void end() {
    if (is_on()) end_(domain_);
  }
  void mark(NameId name) {
    IttString *const string = is_on() ? string_of(name) : nullptr;
    if (!string) return;
    if (marker_) return marker_(domain_, {}, string, kTrackScope);
    begin_(domain_, {}, {}, string);  // a task without duration
    end_(domain_);
  }

 private:
  // Never destroyed: it may be used while the process exits.
  static Collector *load() noexcept try {
    auto collector = std::make_unique<Collector>();
    if (collector->open()) return collector.release();
    recordings_of(Interest::kRanges).fetch_and(~kIttRanges);  // ranges cost no more than without the variable
    return nullptr;
  } catch (const std::bad_alloc &) { return nullptr; }

  bool open() {
    const char *const path = ::secure_getenv(kVariable);
    const LoaderCall call;
    void *const library = path ? ::dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
    if (!library) return false;
    find_functions(library);
    if (!begin_ || !end_) return false;
    domain_ = create_domain_("opdyno");
    return domain_;
  }

  // A collector either fills a table that it is given, or exports the functions themselves.
  void find_functions(void *library) {
    if (auto *const initialize = reinterpret_cast<Initialize *>(::dlsym(library, "__itt_api_init"))) {
      global_.library = library;
      global_.functions = functions_.data();
      pthread_mutexattr_t recursive;
      pthread_mutexattr_init(&recursive);
      pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
      pthread_mutex_init(&global_.mutex, &recursive);
      pthread_mutexattr_destroy(&recursive);
      global_.has_mutex = 1;
      initialize(&global_, kAllGroups);
      global_.is_initialized = 1;
      return;
    }
    for (IttFunction &function : functions_)
      if (function.name)
        if (void *const found = ::dlsym(library, function.name)) *function.place = found;
  }

  IttString *string_of(NameId name) {
    {
      const std::scoped_lock lock(guard_);
      if (const auto known = strings_.find(name); known != strings_.end()) return known->second;
    }
    IttString *const made = create_string_(name_text(name).c_str());  // not under the lock, because it is foreign code
    const std::scoped_lock lock(guard_);
    const auto [known, is_new] = strings_.try_emplace(name, made);
    if (!is_new && create_string_ == &make_string) free_string(made);  // another thread has added it first
    return known->second;
  }

  // Used if the collector leaves domains and strings to its caller.
  static IttDomain *make_domain(const char *name) {
    return new IttDomain{1, ::strdup(name), nullptr, 0, nullptr, nullptr};
  }
  static IttString *make_string(const char *text) {
    return new IttString{::strdup(text), nullptr, 0, nullptr, nullptr};
  }

  static void free_string(IttString *string) {
    std::free(const_cast<char *>(string->text));
    delete string;
  }

  template <class Function>
  static IttFunction entry(const char *name, Function *&place) {
    auto *const initial = reinterpret_cast<void *>(place);
    return {name, reinterpret_cast<void **>(&place), initial, initial, kStructureGroup};
  }

  CreateDomain *create_domain_ = &make_domain;
  CreateString *create_string_ = &make_string;
  BeginTask *begin_ = nullptr;
  EndTask *end_ = nullptr;
  AddMarker *marker_ = nullptr;
  std::array<IttFunction, 6> functions_{entry("__itt_domain_create", create_domain_),
                                        entry("__itt_string_handle_create", create_string_),
                                        entry("__itt_task_begin", begin_),
                                        entry("__itt_task_end", end_),
                                        entry("__itt_marker", marker_),
                                        IttFunction{}};
  IttGlobal global_;
  IttDomain *domain_ = nullptr;
  ForkMutex guard_{LockRank::kNames};  // guards strings_
  std::unordered_map<NameId, IttString *> strings_;
};

// The flag kIttRanges means that a tool may listen. has_itt_collector() loads its collector and finds out.
[[maybe_unused]] const bool kIsAsked = [] {
  const char *const path = ::secure_getenv(Collector::kVariable);
  if (path && *path) recordings_of(Interest::kRanges).fetch_or(kIttRanges);
  return path != nullptr;
}();

}  // namespace

void begin_itt_task(NameId name) noexcept try {
  if (Collector *const collector = Collector::get()) collector->begin(name);
} catch (const std::bad_alloc &) {}  // the end of this range then ends the task around it

void end_itt_task() noexcept {
  if (Collector *const collector = Collector::get()) collector->end();
}

void add_itt_marker(NameId name) noexcept try {
  if (Collector *const collector = Collector::get()) collector->mark(name);
} catch (const std::bad_alloc &) {}

bool has_itt_collector() noexcept { return Collector::get() && Collector::get()->is_on(); }

}  // namespace opd
