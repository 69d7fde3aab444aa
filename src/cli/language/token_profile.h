// The parts of the time to decode a token.
#pragma once
#include <string>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

// Seconds of decoding passes: in all, and of the caches to begin and end them.
struct DecodingTimes {
  std::vector<double> whole, bookkeeping;
};

// Medians over the decoding passes, in seconds, so that a disturbed pass does not matter. `whole`, and the begins and
// ends in `bookkeeping`, come from passes without a recording, because a recording would make them look longer. The
// others come from a recording.
struct TokenProfile {
  struct Operator {
    std::string name;
    double calls;    // mean number in a pass
    double seconds;  // without its callees
  };

  double whole = 0;
  double operators = 0;           // kernels that the program calls
  double attention = 0;           // kernels that the caches call for the program
  double bookkeeping = 0;         // other work of the caches: begin and end passes, functions around those kernels
  double dispatch = 0;            // the rest, on the host: the VM, its builtins, memory, the call
  std::vector<Operator> longest;  // longest first, with builtins

  // `report`: of `passes` decoding passes, with the columns of opd_profile_options.details.
  TokenProfile(const Report &report, size_t passes, const DecodingTimes &plain);

  double share(double seconds) const { return whole > 0 ? seconds / whole : 0; }
  double host_share() const { return share(bookkeeping + dispatch); }
};

}  // namespace opd::cli
