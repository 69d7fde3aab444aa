// A secret that both sides have and prove without sending it. Each side draws a number, so that no proof can be used
// again. Each proof names its side, so that it cannot be sent back. The connection itself is not encrypted.
//
// The client sends "-secret=NUMBER" after its key. The server answers "-challenge=NUMBER -proof=PROOF" after its own
// key, the client sends its proof, and the server a number: kMagic or kMismatch.
#pragma once
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random_bytes.h"
#include "base/sha256.h"
#include "base/text.h"

namespace opd::rpc {

inline constexpr size_t kLeastSecret = 16;  // bytes
inline constexpr std::string_view kSecretOption = " -secret=", kChallengeOption = " -challenge=",
                                  kProofOption = " -proof=";

// The value of an option in a side's greeting; "": it has none.
inline std::string_view option_in(std::string_view said, std::string_view option) {
  const size_t found = said.find(option);
  if (found == said.npos) return "";
  said.remove_prefix(found + option.size());
  return said.substr(0, said.find(' '));
}

// 64 hexadecimal digits
inline std::string draw_number() {
  Sha256 bytes;
  draw_secret_bytes(bytes.data(), bytes.size());
  return hex(bytes);
}

struct Handshake {
  std::string_view secret, client_number, server_number;
  std::string clients_proof() const { return proof("client"); }
  std::string servers_proof() const { return proof("server"); }

 private:
  // 64 hexadecimal digits
  std::string proof(std::string_view side) const {
    return hex(hmac_sha256(secret, concat("opdyno.rpc ", side, " ", client_number, " ", server_number)));
  }
};

// throws if the secret is too short
inline void require_good(std::string_view secret) {
  require(secret.size() >= kLeastSecret, "a secret has at least ", kLeastSecret, " bytes, but this one has ",
          secret.size());
}

}  // namespace opd::rpc
