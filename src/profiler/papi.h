// Declares PAPI, which is loaded on first use. Only the few needed functions are declared. They are the same in all
// releases 7, so building needs no header of PAPI.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "base/fork_mutex.h"

namespace opd {

class Papi {
  // A query of an event makes PAPI enlarge its tables of events, while other threads may read them. So functions that
  // enlarge or read them are used by one thread at a time.
  template <class Signature>
  class Guarded;
  template <class... Args>
  class Guarded<int(Args...)> {
   public:
    int operator()(Args... args) const {
      const std::scoped_lock lock(tables());
      return function(args...);
    }
    int (*function)(Args...) = nullptr;
  };
  static ForkMutex &tables();

 public:
  // Loaded once and never unloaded. Registers the calling thread for queries. Throws OPD_UNSUPPORTED with the reason.
  static const Papi &get();

  // PAPI's functions, without their prefix. Each returns 0, or an error code below 0, unless the comment differs.
  int (*is_initialized)();
  int (*library_init)(int version);  // returns the version
  int (*thread_init)(unsigned long (*thread_id)());
  int (*multiplex_init)();
  int (*register_thread)();  // registers the calling thread; repeating it does nothing
  int (*start)(int set);
  int (*stop)(int set, long long *values);
  int (*read)(int set, long long *values);
  int (*num_components)();                           // returns the number or an error
  const char *(*get_component_info)(int component);  // returns a struct whose first field is the name
  char *(*strerror)(int error);
  Guarded<int(int *set)> create_eventset;
  Guarded<int(int set, int component)> assign_eventset_component;
  Guarded<int(int set)> set_multiplex;
  Guarded<int(int set, int event)> add_event;
  Guarded<int(int set)> cleanup_eventset;
  Guarded<int(int *set)> destroy_eventset;
  Guarded<int(const char *name, int *event)> event_name_to_code;
  Guarded<int(int event, char *name)> event_code_to_name;
  Guarded<int(int *event, int modifier)> enum_event;
  Guarded<int(int *event, int modifier, int component)> enum_cmp_event;
  Guarded<int(int event)> get_event_component;  // returns the component or an error

  std::string reason(int error) const;       // with a hint for the user
  bool counts_threads(int component) const;  // true: counts each thread separately; false: counts the process or the
                                             // machine
  std::vector<std::string> countable_events() const;

 private:
  static const Papi &loaded();
  Papi();
  void load_functions(void *library);
  bool initialize();
  std::string name_of(int event) const;
  void add_if_countable(int event, std::vector<std::string> &names) const;
};

// PAPI's error codes that are handled separately.
inline constexpr int kPapiNoMatchingComponent = -4, kPapiSystem = -3, kPapiNoEvent = -7, kPapiConflict = -8,
                     kPapiRunning = -10, kPapiForbidden = -15, kPapiUnsupported = -18, kPapiTooMany = -23,
                     kPapiDisabled = -25;

// Events of one component that count together, on the thread that makes the set.
class PapiSet {
 public:
  PapiSet(const Papi &papi, int component, bool multiplexed = false);
  PapiSet(PapiSet &&other) noexcept;
  ~PapiSet();
  int add(int event) { return papi_.add_event(set_, event); }  // add() and the next function return PAPI's code
  int start();
  int read(long long *values) const { return papi_.read(set_, values); }

 private:
  const Papi &papi_;
  int set_ = -1;
  bool runs_ = false;
};

}  // namespace opd
