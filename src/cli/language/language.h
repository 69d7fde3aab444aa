// `opdyno bench` and `opdyno profile` of a language model: they drive its program by themselves.
#pragma once
#include "cli/support/args.h"
#include "cli/support/failure.h"

namespace opd::cli {

// Both fail with Exit::usage if the program is not a language model's.
Exit bench_language(const Args &args);
// `is_output_taken`: an option sends something else to standard output.
Exit profile_language(const Args &args, bool is_output_taken);

}  // namespace opd::cli
