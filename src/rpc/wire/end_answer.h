// The last answer of a session to its client: the reason why its process has ended. It allocates no memory, because
// signal handlers make it, too.
#pragma once
#include <opdyno/rpc_serve.h>

#include <string_view>

namespace opd::rpc {

// The beginning of such answers. Clients recognize the end of the session by it.
inline constexpr std::string_view kEndAnswer = "ConnectionError: the session's process was ended by ";

class EndAnswer {
 public:
  // `reason`: "SIGSEGV (it used memory that is not there)". `operator_name`: "": none ran. Longer texts are cut.
  EndAnswer(std::string_view reason, std::string_view operator_name) noexcept;
  std::string_view packet() const { return {bytes_, size_}; }

 private:
  void add(std::string_view more) noexcept;

  char bytes_[640];
  size_t size_ = 0;
};

// Sends the answer to the client of a process that has ended, if a whole frame can be sent at once: see
// opd_rpc_tell_end().
void tell_end(int descriptor, const opd_rpc_progress &progress);

}  // namespace opd::rpc
