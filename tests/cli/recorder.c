/* recorder FILE RANGES END: records ranges into FILE. END "stop" completes it; "kill" kills the process amid a range.
 */
#define _POSIX_C_SOURCE 200809L
#include <opdyno/opdyno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  opd_profiler_options options;
  opd_profiler *profiler = NULL;
  opd_trace *trace = NULL;
  if (argc != 4) return 2;
  opd_profiler_options_init(&options);
  options.file = argv[1];
  if (opd_profiler_create(&options, &profiler) || opd_profiler_start(profiler)) return 1;
  for (int i = atoi(argv[2]); i > 0; --i) {
    opd_range_push("request");
    opd_range_push("answer");
    opd_range_pop();
    opd_range_pop();
  }
  if (strcmp(argv[3], "kill") == 0) {
    opd_range_push("fatal request");
    kill(getpid(), SIGKILL);
  }
  if (opd_profiler_stop(profiler, &trace)) return 1;
  opd_trace_release(trace);
  opd_profiler_release(profiler);
  return 0;
}
