/* What tests/cli/control_cases.py records from outside: calls function main of a module in a loop, each call in a range
 * "request", until its input ends. A line of input is a command; the answer is a line.
 *
 *   control_server MODULE
 */
#define _POSIX_C_SOURCE 200809L
#include <opdyno/opdyno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int stops;

/* A child of a fork() has AddressSanitizer's heap as it was, its locks among it: if another thread allocates meanwhile,
 * the child may wait for ever. So no call runs there while the process forks. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORK_WAITS_FOR_CALLS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define FORK_WAITS_FOR_CALLS 1
#endif
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;
static void hold_calls(void) {
#ifdef FORK_WAITS_FOR_CALLS
  pthread_mutex_lock(&calls);
#endif
}
static void let_calls_go(void) {
#ifdef FORK_WAITS_FOR_CALLS
  pthread_mutex_unlock(&calls);
#endif
}

/* The child has the lock, too, and lets it go. */
static pid_t fork_between_calls(void) {
  hold_calls();
  const pid_t child = fork();
  let_calls_go();
  return child;
}

static void check(opd_error *error) {
  if (!error) return;
  fprintf(stderr, "control_server: %s\n", opd_error_message(error));
  exit(1);
}

static void show(void *user_data, opd_log_level level, const char *message) {
  (void)user_data;
  fprintf(stderr, "log %d: %s\n", (int)level, message);
}

static void call_once(opd_vm *vm) {
  const int64_t dims[] = {4};
  const DLDataType dtype = {kDLFloat, 32, 1};
  const DLDevice cpu = {kDLCPU, 0};
  opd_tensor *x;
  opd_value argument, result;
  check(opd_tensor_create(dims, 1, dtype, cpu, &x));
  memset(opd_tensor_view(x)->data, 0, 4 * sizeof(float));
  argument = opd_value_of_object(x);
  opd_range_push("request");
  check(opd_vm_call(vm, "main", &argument, 1, NULL, &result));
  opd_range_pop();
  opd_value_release(&result);
  opd_tensor_release(x);
}

static void *call_always(void *vm) {
  const struct timespec pause = {0, 1000000};
  while (!__atomic_load_n(&stops, __ATOMIC_RELAXED)) {
    hold_calls();
    call_once(vm);
    let_calls_go();
    nanosleep(&pause, NULL);
  }
  return NULL;
}

/* The child calls, too, until its parent ends, and says whether it is recorded. */
static void fork_one(opd_vm *vm) {
  int lives[2];
  if (pipe(lives) != 0) exit(1);
  if (fork_between_calls() != 0) {
    close(lives[0]);
    return;
  }
  char byte;
  pthread_t thread;
  close(lives[1]);
  printf("child %d recorded %d\n", (int)getpid(), (int)opd_range_is_recorded());
  fflush(stdout);
  pthread_create(&thread, NULL, call_always, vm);
  while (read(lives[0], &byte, 1) > 0) {}
  __atomic_store_n(&stops, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  exit(0);
}

/* Five children that become another program soon. */
static void spawn(void) {
  const struct timespec soon = {0, 20000000};
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork_between_calls();
    if (child == 0) {
      nanosleep(&soon, NULL);
      execlp("true", "true", (char *)NULL);
      _exit(1);
    }
    waitpid(child, NULL, 0);
  }
}

int main(int argc, char **argv) {
  opd_module *module;
  opd_vm *vm;
  pthread_t thread;
  char line[64];
  uint64_t range = 0;
  if (argc != 2) return 2;
  if (getenv("CONTROL_SERVER_LOG")) opd_log_set_callback(show, NULL, NULL);
  check(opd_module_load(argv[1], NULL, &module));
  check(opd_vm_create(module, NULL, &vm));
  call_once(vm);
  pthread_create(&thread, NULL, call_always, vm);
  printf("ready %d\n", (int)getpid());
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    if (!strcmp(line, "fork\n")) {
      fork_one(vm);
      continue;
    }
    if (!strcmp(line, "call\n")) call_once(vm);
    if (!strcmp(line, "spawn\n")) spawn();
    if (!strcmp(line, "begin\n")) range = opd_range_begin(opd_range_name("long"));
    if (!strcmp(line, "end\n")) opd_range_end(range);
    printf("recorded %d\n", (int)opd_range_is_recorded());
    fflush(stdout);
  }
  __atomic_store_n(&stops, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  opd_vm_release(vm);
  opd_module_release(module);
  return 0;
}
