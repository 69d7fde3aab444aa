// Every allocation of eight ways of using the library fails: once, and from that one on for ever. Each time there is an
// error, and nothing crashes, hangs or leaks. Each failure happens in a child process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "alloc/failing_allocator.h"
#include "alloc/scenarios.h"

using namespace opdyno_test;

namespace {

constexpr unsigned kTimeLimit = 60;  // seconds; for a child that hangs
// Of a scenario; OPDYNO_TEST_THOROUGH tries every allocation.
size_t step_of(size_t allocations) {
  if (std::getenv("OPDYNO_TEST_THOROUGH")) return 1;
  const size_t tries = std::getenv("OPDYNO_TEST_FULL") ? 200 : 60;
  return allocations / tries + 1;
}

const Inputs &inputs() {
  static const Inputs *const made = new Inputs;
  return *made;
}

// What a child tells.
struct Outcome {
  size_t allocations = 0;  // while they were counted
  ptrdiff_t kept = 0;      // blocks that are left after two further runs without a failure
  bool failed = false;     // with an error
  Failure failure{};
  char problem[512] = "";
};

bool succeeds(const Scenario &scenario, Failure &failure) {
  try {
    scenario.run(inputs());
    return true;
  } catch (const Failure &told) { failure = told; } catch (const std::exception &) {
    failure = {OPD_INTERNAL, "an exception left the library"};
  }
  return false;
}

Outcome run_with_failure(const Scenario &scenario, size_t first, bool all) {
  Outcome out;
  const ptrdiff_t before = live_blocks();
  start_counting(first, all);
  out.failed = !succeeds(scenario, out.failure);
  out.allocations = stop_counting();
  for (int i = 0; i < 2; ++i) {
    Failure later;
    if (!succeeds(scenario, later))
      std::snprintf(out.problem, sizeof out.problem, "a later run fails: %s", later.message);
  }
  out.kept = live_blocks() - before;
  return out;
}

// The outcome in a child process.
Outcome outcome_of(const Scenario &scenario, size_t first, bool all) {
  Outcome out;
  int ends[2];
  if (pipe(ends)) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    alarm(kTimeLimit);
    out = run_with_failure(scenario, first, all);
    _exit(write(ends[1], &out, sizeof out) == sizeof out ? 0 : 1);
  }
  close(ends[1]);
  const bool whole = read(ends[0], &out, sizeof out) == sizeof out;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!whole)
    std::snprintf(out.problem, sizeof out.problem, "the process ended by signal %d, status %d",
                  WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
  return out;
}

class AllocationFailure : public testing::TestWithParam<Scenario> {};

}  // namespace

TEST_P(AllocationFailure, IsAnErrorWithoutALeak) {
  inputs();  // made before any process begins
  Outcome usual = outcome_of(GetParam(), 0, false);
  ASSERT_STREQ(usual.problem, "");
  ASSERT_FALSE(usual.failed) << usual.failure.message;
  ASSERT_GT(usual.allocations, 0u);
  const size_t step = step_of(usual.allocations);
  for (const bool all : {false, true})
    for (size_t first = 1; first <= usual.allocations; first += step) {
      const Outcome out = outcome_of(GetParam(), first, all);
      SCOPED_TRACE("allocation " + std::to_string(first) + (all ? " and all later ones" : "") + " of " +
                   std::to_string(usual.allocations));
      EXPECT_STREQ(out.problem, "");
      if (out.failed) { EXPECT_STREQ(opd_code_name(out.failure.code), "OPD_OUT_OF_MEMORY") << out.failure.message; }
      // What the library keeps for a later load may change with time: so a run without a failure is made again.
      if (out.kept > usual.kept) usual.kept = std::max(usual.kept, outcome_of(GetParam(), 0, false).kept);
      EXPECT_LE(out.kept, usual.kept);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, AllocationFailure, testing::ValuesIn(kScenarios),
                         [](const auto &info) { return std::string(info.param.name); });
