// Stands for the PAPI library: events whose counts, limits and errors a test writes. It has the functions that the
// profiler calls, with PAPI's codes. It notes whether two threads are in its tables of events at the same time, and
// whether a thread asks for an event that PAPI does not know, which PAPI does not survive.
#include <sched.h>
#include <stddef.h>
#include <string.h>

enum { kEvents = 8, kSets = 256, kVersion = 7 << 24 | 2 << 16 };
enum { kInvalid = -1, kConflict = -8, kRunning = -10, kNoEvent = -7, kEnd = -24 };

// What the test sets: counts of the events, and the codes that adding, starting and reading them give.
long long papi_counts[kEvents];
int papi_add_errors[kEvents], papi_start_errors[kEvents], papi_read_error;
int papi_most_in_a_set = 4;                          // unless they take turns
int papi_thread_errors, papi_turn_error, papi_sets;  // papi_sets: those that there are

typedef struct {
  const char *name;
  int code, component;
} Event;
static const Event kAll[kEvents] = {
    {"PAPI_TOT_INS", (int)0x80000000u, 0}, {"PAPI_TOT_CYC", (int)0x80000001u, 0}, {"perf::LOADS", 0x40000000, 0},
    {"perf::LOADS:u=0", 0x40000001, 0},    {"perf::LOADS:MISS", 0x40000002, 0},   {"perf::STORES", 0x40000003, 0},
    {"net:::rx", 0x40000010, 1},           {"net:::tx", 0x40000011, 1},
};

typedef struct {
  int is_used, component, is_multiplexed, runs, num_events, events[kEvents];
  long long begins[kEvents];
} Set;
static Set sets[kSets];

int papi_overlaps;  // how often a thread met another one in the tables
int papi_strangers;
static _Thread_local int is_registered;
int PAPI_register_thread(void) { return is_registered = 1, 0; }
static int threads_inside;
static void look_into_tables(void) {
  if (__atomic_fetch_add(&threads_inside, 1, __ATOMIC_ACQ_REL)) __atomic_add_fetch(&papi_overlaps, 1, __ATOMIC_RELAXED);
  sched_yield();
  __atomic_sub_fetch(&threads_inside, 1, __ATOMIC_ACQ_REL);
}
static int place_of(int code) {
  look_into_tables();
  for (int i = 0; i < kEvents; ++i)
    if (kAll[i].code == code) return i;
  return -1;
}
static Set *set_of(int number) { return number >= 0 && number < kSets && sets[number].is_used ? &sets[number] : NULL; }

int PAPI_is_initialized(void) { return 1; }
int PAPI_library_init(int version) { return version == kVersion ? version : kInvalid; }
int PAPI_thread_init(unsigned long (*id)(void)) { return id() ? papi_thread_errors : kInvalid; }
static int takes_turns;
int PAPI_multiplex_init(void) { return takes_turns = 1, 0; }
int PAPI_create_eventset(int *set) {
  for (int i = 0; i < kSets; ++i) {
    if (__atomic_exchange_n(&sets[i].is_used, 1, __ATOMIC_ACQ_REL)) continue;
    sets[i].component = sets[i].is_multiplexed = sets[i].runs = sets[i].num_events = 0;
    __atomic_add_fetch(&papi_sets, 1, __ATOMIC_RELAXED);
    *set = i;
    return 0;
  }
  return kInvalid;
}
int PAPI_assign_eventset_component(int set, int component) { return set_of(set)->component = component, 0; }
int PAPI_set_multiplex(int set) {
  if (papi_turn_error || !takes_turns) return papi_turn_error ? papi_turn_error : kInvalid;
  return set_of(set)->is_multiplexed = 1, 0;
}
int PAPI_add_event(int number, int code) {
  Set *set = set_of(number);
  const int place = place_of(code);
  if (!set || place < 0) return kInvalid;
  if (kAll[place].component != set->component) return kConflict;
  if (papi_add_errors[place]) return papi_add_errors[place];
  if (!set->is_multiplexed && set->num_events >= papi_most_in_a_set) return kConflict;
  set->events[set->num_events++] = place;
  return 0;
}
int PAPI_start(int number) {
  Set *set = set_of(number);
  for (int i = 0; i < set->num_events; ++i) {
    if (papi_start_errors[set->events[i]]) return papi_start_errors[set->events[i]];
    set->begins[i] = __atomic_load_n(&papi_counts[set->events[i]], __ATOMIC_RELAXED);
  }
  return set->runs = 1, 0;
}
int PAPI_read(int number, long long *values) {
  const Set *set = set_of(number);
  if (papi_read_error) return papi_read_error;
  for (int i = 0; i < set->num_events; ++i)
    values[i] = __atomic_load_n(&papi_counts[set->events[i]], __ATOMIC_RELAXED) - set->begins[i];
  return set->runs ? 0 : kInvalid;
}
int PAPI_stop(int number, long long *values) {
  const int error = PAPI_read(number, values);
  return set_of(number)->runs = 0, error;
}
// As PAPI's: a set that runs or has events cannot be destroyed.
int PAPI_cleanup_eventset(int number) {
  Set *set = set_of(number);
  if (!set || set->runs) return kRunning;
  return set->num_events = 0;
}
int PAPI_destroy_eventset(int *number) {
  Set *set = set_of(*number);
  if (!set || set->num_events) return kInvalid;
  __atomic_sub_fetch(&papi_sets, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&set->is_used, 0, __ATOMIC_RELEASE);
  *number = -1;
  return 0;
}
int PAPI_event_name_to_code(const char *name, int *code) {
  if (!is_registered) __atomic_add_fetch(&papi_strangers, 1, __ATOMIC_RELAXED);
  look_into_tables();
  for (int i = 0; i < kEvents; ++i)
    if (!strcmp(kAll[i].name, name)) return *code = kAll[i].code, 0;
  return kNoEvent;
}
int PAPI_event_code_to_name(int code, char *name) {
  const int place = place_of(code);
  return place < 0 ? kNoEvent : (strcpy(name, kAll[place].name), 0);
}
// Modifiers: 0 the next one, 1 the first one, 15 the next one with a mask. An event's masks follow it.
static int has_mask(int place) { return strchr(kAll[place].name + 6, ':') && kAll[place].component == 0; }
int PAPI_enum_event(int *code, int modifier) {
  look_into_tables();
  if (modifier == 1) return *code = kAll[0].code, 0;
  if (*code != kAll[0].code) return kEnd;
  return *code = kAll[1].code, 0;
}
int PAPI_enum_cmp_event(int *code, int modifier, int component) {
  int place = modifier == 1 ? 1 : place_of(*code);
  if (place < 0) return kInvalid;
  for (++place; place < kEvents; ++place) {
    if (modifier == 15) return has_mask(place) ? (*code = kAll[place].code, 0) : kEnd;
    if (kAll[place].component == component && !has_mask(place)) return *code = kAll[place].code, 0;
  }
  return kEnd;
}
int PAPI_get_event_component(int code) {
  const int place = place_of(code);
  return place < 0 ? kNoEvent : kAll[place].component;
}
int PAPI_num_components(void) { return 2; }
const char *PAPI_get_component_info(int component) {
  return component == 0 ? "perf_event" : component == 1 ? "net" : NULL;
}
char *PAPI_strerror(int error) {
  static char text[] = "PAPI's text 00";
  text[12] = (char)('0' + -error / 10), text[13] = (char)('0' + -error % 10);
  return text;
}
