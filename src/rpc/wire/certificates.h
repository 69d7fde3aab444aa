// Certificates and private keys of servers that speak TLS, from PEM files.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/wire/openssl_api.h"

namespace opd::rpc {

// Ends an object of OpenSSL by the function of its table.
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
  std::string certificate_file, key_file;  // "": the server does not speak TLS
  bool is_wanted() const { return !certificate_file.empty(); }
};

// A server's proof of its identity. The first certificate is its own; those behind it lead to the authority.
struct Identity {
  std::vector<CertificateRef> certificates;
  KeyRef key;
};
// Throws for files that do not have them, or not those of each other. Of the key, nothing stays in memory but what
// `Identity` has.
Identity read_identity(const TlsServerOptions &options);

// SHA-256, hexadecimal.
std::string fingerprint_of(const X509 *certificate);
std::string server_fingerprint(const TlsServerOptions &options);  // throws as read_identity()
// From how users write one: digits of both cases, pairs with ':' between. Throws for what is none.
std::string normal_fingerprint(std::string_view given);

}  // namespace opd::rpc
