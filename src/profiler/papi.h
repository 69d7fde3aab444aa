// The PAPI library, loaded on first use. The few functions needed are declared here: they are the same in all releases
// 7, so building needs no header of PAPI.
#pragma once
#include <string>
#include <vector>

namespace opd {

class Papi {
 public:
  static const Papi &get();  // throws OPD_UNSUPPORTED with the reason; loaded once, and never unloaded

  // PAPI's functions, without their prefix. Each returns 0, or an error code below 0, unless the comment says
  // otherwise.
  int (*is_initialized)();
  int (*library_init)(int version);  // returns the version
  int (*thread_init)(unsigned long (*thread_id)());
  int (*multiplex_init)();
  int (*create_eventset)(int *set);
  int (*assign_eventset_component)(int set, int component);
  int (*set_multiplex)(int set);
  int (*add_event)(int set, int event);
  int (*start)(int set);
  int (*stop)(int set, long long *values);
  int (*read)(int set, long long *values);
  int (*cleanup_eventset)(int set);
  int (*destroy_eventset)(int *set);
  int (*event_name_to_code)(const char *name, int *event);
  int (*event_code_to_name)(int event, char *name);
  int (*enum_event)(int *event, int modifier);
  int (*enum_cmp_event)(int *event, int modifier, int component);
  int (*get_event_component)(int event);             // or an error
  int (*num_components)();                           // or an error
  const char *(*get_component_info)(int component);  // a struct whose first field is the name
  char *(*strerror)(int error);

  std::string reason(int error) const;       // with a hint for the user
  bool counts_threads(int component) const;  // true: counts each thread by itself; false: the process or the machine
  std::vector<std::string> countable_events() const;

 private:
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
  int add(int event) { return papi_.add_event(set_, event); }  // these two return PAPI's code
  int start();
  int read(long long *values) const { return papi_.read(set_, values); }

 private:
  const Papi &papi_;
  int set_ = -1;
  bool runs_ = false;
};

}  // namespace opd
