// A secret that both sides have and prove without sending it. Each side draws a number, so that no proof can be used
// again. Each proof names its side, so that it cannot be sent back. The connection itself is not encrypted.
//
// The client sends "-secret=NUMBER" after its key. The server answers "-challenge=NUMBER -proof=PROOF" after its own
// key, the client sends its proof, and the server a number: kMagic or kMismatch.
#pragma once
#include <string>
#include <string_view>

namespace opd::rpc {

inline constexpr size_t kLeastSecret = 16;  // bytes
inline constexpr std::string_view kSecretOption = " -secret=", kChallengeOption = " -challenge=",
                                  kProofOption = " -proof=";

// The value of an option in a side's greeting; "": it has none.
std::string_view option_in(std::string_view said, std::string_view option);

std::string draw_number();  // 64 hexadecimal digits

struct Handshake {
  std::string_view secret, client_number, server_number;
  std::string clients_proof() const { return proof("client"); }
  std::string servers_proof() const { return proof("server"); }

 private:
  std::string proof(std::string_view side) const;  // 64 hexadecimal digits
};

void require_good(std::string_view secret);  // throws if the secret is too short

}  // namespace opd::rpc
