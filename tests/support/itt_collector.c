/* A collector of Intel's ITT API, as a tool injects it: writes down what it is told. With ITT_TABLE it fills a table of
 * functions, as the reference collector does, and leaves domains and strings to the caller; else it exports them all:
 * with ITT_WITHOUT_END all but one that is needed, with ITT_WITHOUT_DOMAIN one that refuses to make a domain.
 */
#define _GNU_SOURCE  // strdup
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  unsigned long long words[3];
} Id;
typedef struct Domain {
  volatile int flags;
  const char *name;
  void *wide_name;
  int extra_number;
  void *extra;
  struct Domain *next;
} Domain;
typedef struct String {
  const char *text;
  void *wide_text;
  int extra_number;
  void *extra;
  struct String *next;
} String;

static char written[1 << 16];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static const Domain *domain;

static void note(const char *what, const char *name) {
  pthread_mutex_lock(&guard);
  const size_t size = strlen(written);
  snprintf(written + size, sizeof written - size, "%s%s%s\n", what, *name ? " " : "", name);
  pthread_mutex_unlock(&guard);
}

/* What it was told since the last call. */
const char *collected(void) {
  static char taken[sizeof written];
  pthread_mutex_lock(&guard);
  memcpy(taken, written, sizeof written);
  written[0] = '\0';
  pthread_mutex_unlock(&guard);
  return taken;
}

/* Switches the domain off, or on again. */
void collect(int flags) { ((Domain *)domain)->flags = flags; }

static int is_ready(void);

void __itt_task_begin(const Domain *given, Id task, Id parent, String *name) {
  int is_null = is_ready();
  for (int i = 0; i < 3; ++i) is_null = is_null && !task.words[i] && !parent.words[i];
  domain = given;
  note(is_null && !strcmp(given->name, "opdyno") ? "begin" : "wrong begin", name->text);
}
#ifndef ITT_WITHOUT_END
void __itt_task_end(const Domain *given) { note(given == domain ? "end" : "wrong end", ""); }
#endif

#ifdef ITT_TABLE
typedef struct {
  const char *name;
  void **place;
  void *initial, *absent;
  int group;
} Function;
typedef struct {
  unsigned char magic[8];
  unsigned long version[3];
  volatile long is_initialized, has_mutex, counter;
  pthread_mutex_t mutex;
  void *library;
  void *error_handler;
  const char **path;
  Function *functions;
} Global;

static const Global *initialized;
static int is_ready(void) { return initialized && initialized->is_initialized == 1; }

void __itt_api_init(Global *global, int groups) {
  const unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
  if (memcmp(magic, global->magic, 8) || global->version[0] != 3 || groups != -1) return note("wrong init", "");
  if (global->is_initialized != 0 || global->has_mutex != 1) return note("wrong state", "");
  pthread_mutex_lock(&global->mutex);
  if (pthread_mutex_trylock(&global->mutex)) return note("a mutex that is not recursive", "");
  pthread_mutex_unlock(&global->mutex);
  initialized = global;
  for (Function *function = global->functions; function->name; ++function) {
    if (function->group != 1 << 12) note("wrong group", function->name);  // of structures, as tasks and domains are
    void *const found = dlsym(global->library, function->name);
    *function->place = found ? found : function->absent;
  }
  pthread_mutex_unlock(&global->mutex);
}
#else
static int is_ready(void) { return 1; }
static pthread_mutex_t strings_guard = PTHREAD_MUTEX_INITIALIZER;

Domain *__itt_domain_create(const char *name) {
#ifdef ITT_WITHOUT_DOMAIN
  return NULL;
#endif
  Domain *made = calloc(1, sizeof *made);
  made->flags = 1;
  made->name = strdup(name);
  note("domain", name);
  return made;
}
/* One handle for one text, as the interface says: two threads may ask for the same. */
String *__itt_string_handle_create(const char *text) {
  static String *strings;
  pthread_mutex_lock(&strings_guard);
  String *found = strings;
  while (found && strcmp(found->text, text)) found = found->next;
  if (!found) {
    found = calloc(1, sizeof *found);
    found->text = strdup(text);
    found->next = strings;
    strings = found;
  }
  pthread_mutex_unlock(&strings_guard);
  note("string", text);
  return found;
}
void __itt_marker(const Domain *given, Id id, String *name, int scope) {
  note(!id.words[0] && !strcmp(given->name, "opdyno") && scope == 3 ? "mark" : "wrong mark", name->text);
}
#endif
