#include "profiler/papi.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "profiler/counting_hints.h"

namespace opd {
namespace {

// Numbers from PAPI's headers.
constexpr int kNullSet = -1;
constexpr int kEnumEvents = 0, kEnumFirst = 1, kEnumMasks = 15;
constexpr int kPresets = static_cast<int>(0x80000000u);
constexpr int kThreadsInited = 4;

unsigned long thread_id() { return static_cast<unsigned long>(syscall(SYS_gettid)); }

void *open_library() {
  const LoaderCall call;
  for (const char *name : {"libpapi.so.7.0", "libpapi.so.7.1", "libpapi.so.7.2", "libpapi.so"})
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  fail(OPD_UNSUPPORTED, "PAPI counters need the PAPI library, version 7, which cannot be loaded (",
       std::string_view(dlerror()), "); on Debian and Ubuntu: apt install libpapi7.0, or libpapi-dev");
}

}  // namespace

void Papi::load_functions(void *library) {
  const auto load = [&]<class Function>(Function &function, const char *name) {
    void *const found = dlsym(library, name);
    if (!found) fail(OPD_UNSUPPORTED, "the PAPI library that is installed has no function ", name);
    if constexpr (std::is_pointer_v<Function>) function = reinterpret_cast<Function>(found);
    else function.function = reinterpret_cast<decltype(function.function)>(found);
  };
#define LOAD(NAME) load(NAME, "PAPI_" #NAME)
  LOAD(is_initialized), LOAD(library_init), LOAD(thread_init), LOAD(multiplex_init), LOAD(register_thread);
  LOAD(create_eventset), LOAD(assign_eventset_component), LOAD(set_multiplex);
  LOAD(add_event), LOAD(start), LOAD(stop), LOAD(read), LOAD(cleanup_eventset), LOAD(destroy_eventset);
  LOAD(event_name_to_code), LOAD(event_code_to_name), LOAD(enum_event), LOAD(enum_cmp_event);
  LOAD(get_event_component), LOAD(num_components), LOAD(get_component_info), LOAD(strerror);
#undef LOAD
}

// The library accepts only its own version number, and has no way to query it before.
bool Papi::initialize() {
  for (int minor = 0; minor < 16; ++minor) {
    const int version = 7 << 24 | minor << 16;
    if (library_init(version) == version) return true;
  }
  return false;
}

Papi::Papi() {
  load_functions(open_library());
  if (!initialize())
    fail(OPD_UNSUPPORTED, "the PAPI library that is installed cannot be initialised, or is not of version 7");
  if (!(is_initialized() & kThreadsInited))  // the program may use PAPI itself
    if (const int error = thread_init(thread_id)) fail(OPD_UNSUPPORTED, "PAPI cannot count threads: ", strerror(error));
  multiplex_init();  // if it fails, collectors that need it fail, too
}

const Papi &Papi::get() {
  const Papi &papi = loaded();
  papi.register_thread();  // PAPI crashes if an unregistered thread queries an event
  return papi;
}

const Papi &Papi::loaded() {
  static auto &guard = *new ForkMutex(LockRank::kPapi);
  static std::atomic<const Papi *> papi{nullptr};
  if (const Papi *known = papi.load(std::memory_order_acquire)) return *known;
  std::scoped_lock lock(guard);
  if (!papi.load(std::memory_order_relaxed))  // never freed, because threads may use it until the process ends
    papi.store(std::unique_ptr<Papi>(new Papi).release(), std::memory_order_release);
  return *papi.load(std::memory_order_relaxed);
}

ForkMutex &Papi::tables() {
  static auto &guard = *new ForkMutex(LockRank::kPapiTables);  // never freed, like the library
  return guard;
}

std::string Papi::reason(int error) const {
  switch (error) {
    case kPapiNoEvent:
    case kPapiNoMatchingComponent:
      return concat("this machine cannot count it (PAPI: ", strerror(error),
                    "); virtual machines often have no performance monitoring unit, and a container may hide it; ",
                    paranoia_text());
    case kPapiForbidden:
    case kPapiSystem:
      return concat("it is forbidden (PAPI: ", strerror(error), "): ", paranoia_text(),
                    ", where users may count their own code up to 2; in a container, perf_event_open must be allowed ",
                    "as well (--cap-add PERFMON)");
    case kPapiConflict:
    case kPapiTooMany:
      return concat("it cannot be counted together with the others (PAPI: ", strerror(error), ")");
    case kPapiRunning:
      return "PAPI counts this thread already; one collector of the component can do so at a time";
    default:
      return concat("PAPI: ", strerror(error));
  }
}

bool Papi::counts_threads(int component) const {
  const char *name = get_component_info(component);
  return name && std::strcmp(name, "perf_event") == 0;
}

std::string Papi::name_of(int event) const {
  char name[8192] = "";  // longer than PAPI's longest name
  return event_code_to_name(event, name) == 0 ? name : "";
}

void Papi::add_if_countable(int event, std::vector<std::string> &names) const {
  const int component = get_event_component(event);
  if (component < 0) return;
  PapiSet set(*this, component);
  if (set.add(event) == 0 && set.start() == 0) names.push_back(name_of(event));
}

std::vector<std::string> Papi::countable_events() const {
  std::vector<std::string> names;
  int event = kPresets;
  for (int more = enum_event(&event, kEnumFirst); more == 0; more = enum_event(&event, kEnumEvents))
    add_if_countable(event, names);
  for (int component = 0; component < num_components(); ++component) {
    int native = 0x40000000;
    for (int more = enum_cmp_event(&native, kEnumFirst, component); more == 0;
         more = enum_cmp_event(&native, kEnumEvents, component)) {
      add_if_countable(native, names);
      int with_mask = native;
      while (enum_cmp_event(&with_mask, kEnumMasks, component) == 0)
        if (name_of(with_mask).find('=') == std::string::npos) add_if_countable(with_mask, names);  // else modifiers
    }
  }
  return names;
}

PapiSet::PapiSet(const Papi &papi, int component, bool multiplexed) : papi_(papi) {
  set_ = kNullSet;
  int error = papi.create_eventset(&set_);
  if (!error) error = papi.assign_eventset_component(set_, component);
  if (!error && multiplexed) error = papi.set_multiplex(set_);
  if (error) {
    papi.destroy_eventset(&set_);
    fail(OPD_UNSUPPORTED, "PAPI cannot make a set of events: ", papi.reason(error));
  }
}

PapiSet::PapiSet(PapiSet &&other) noexcept
    : papi_(other.papi_), set_(std::exchange(other.set_, kNullSet)), runs_(std::exchange(other.runs_, false)) {}

PapiSet::~PapiSet() {
  if (set_ == kNullSet) return;
  long long ignored[256];
  if (runs_) papi_.stop(set_, ignored);
  papi_.cleanup_eventset(set_);
  papi_.destroy_eventset(&set_);
}

int PapiSet::start() {
  const int error = papi_.start(set_);
  runs_ = error == 0;
  return error;
}

}  // namespace opd
