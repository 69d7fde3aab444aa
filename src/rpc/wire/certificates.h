// Certificates and private keys of TLS servers, from PEM files.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/wire/openssl_api.h"

namespace opd::rpc {

// A deleter that calls a function of OpenSSL's table.
template <auto Free>
struct Freed {
  template <class T>
  void operator()(T *object) const {
    (openssl::Api::get().*Free)(object);
  }
};
using CertificateRef = std::unique_ptr<X509, Freed<&openssl::Api::X509_free>>;
using KeyRef = std::unique_ptr<EVP_PKEY, Freed<&openssl::Api::EVP_PKEY_free>>;

struct TlsServerOptions {
  std::string certificate_file, key_file;  // "": the server does not use TLS
  bool is_wanted() const { return !certificate_file.empty(); }
};

// A server's proof of its identity. The first certificate is its own; the others form the chain to the authority.
struct Identity {
  std::vector<CertificateRef> certificates;
  KeyRef key;
};
// Throws if a file lacks its content, or if key and certificate do not match. `Identity` has the only copy of the key
// in memory.
Identity read_identity(const TlsServerOptions &options);

// SHA-256, hexadecimal.
std::string fingerprint_of(const X509 *certificate);
std::string server_fingerprint(const TlsServerOptions &options);  // throws as read_identity()
// Normalizes a fingerprint that a user wrote: upper or lower case, pairs may be separated by ':'. Throws for other
// texts.
std::string normal_fingerprint(std::string_view given);

}  // namespace opd::rpc
