// The programs that both sides run: opdyno writes their bytes, the peer reads them.
#pragma once
#include <string>

namespace bench {

inline constexpr const char *kNop = "opdyno.bench.nop";  // the registered function that does nothing
inline constexpr int kParams = 4;                        // tensors of 4 floats

struct VmProgram {
  int calls, args;
  std::string file(const std::string &directory) const {
    return directory + "/nop_" + std::to_string(calls) + "x" + std::to_string(args) + ".vmexec";
  }
};

}  // namespace bench
