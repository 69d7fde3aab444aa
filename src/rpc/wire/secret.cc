#include "rpc/wire/secret.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/random_bytes.h"
#include "base/sha256.h"
#include "base/text.h"

namespace opd::rpc {

std::string_view option_in(std::string_view said, std::string_view option) {
  const size_t found = said.find(option);
  if (found == said.npos) return "";
  said.remove_prefix(found + option.size());
  return said.substr(0, said.find(' '));
}

std::string draw_number() {
  Sha256 bytes;
  draw_secret_bytes(bytes.data(), bytes.size());
  return hex(bytes);
}

std::string Handshake::proof(std::string_view side) const {
  return hex(hmac_sha256(secret, concat("opdyno.rpc ", side, " ", client_number, " ", server_number)));
}

void require_good(std::string_view secret) {
  require(secret.size() >= kLeastSecret, "a secret has at least ", kLeastSecret, " bytes, but this one has ",
          secret.size());
}

}  // namespace opd::rpc
