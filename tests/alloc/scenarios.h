// What is run while allocations fail: eight ways of using the library.
#pragma once
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "support/c_artifact.h"
#include "support/opdyno_test.h"

namespace opdyno_test {

/** The error of a scenario. It allocates nothing: the error's text is copied. */
struct Failure {
  opd_code code;
  char message[256];
};

/** Throws a Failure unless @p error is NULL. */
inline void must(opd_error *error) {
  if (!error) return;
  Failure failure{opd_error_code(error), ""};
  std::snprintf(failure.message, sizeof failure.message, "%s", opd_error_message(error));
  opd_error_release(error);
  throw failure;
}

/** What the scenarios use, made before the first allocation is counted. */
struct Inputs {
  std::string library;  // a program with its kernels, exported
  std::string scratch;  // a directory
  std::string report, params;
  Module program;  // the library, loaded
  Vm vm;
  Tensor x = floats({4, 3, 2, 1});
  std::vector<Handle<opd_report>> runs;
  Inputs();
};

struct Scenario {
  const char *name;
  void (*run)(const Inputs &inputs);  // throws Failure; allocates nothing itself
};
inline void PrintTo(const Scenario &scenario, std::ostream *out) { *out << scenario.name; }
extern const std::vector<Scenario> kScenarios;

}  // namespace opdyno_test
