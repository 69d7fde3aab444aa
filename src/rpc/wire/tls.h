// TLS 1.3 on a connection, by OpenSSL. The server shows a certificate; the client checks it before it sends anything.
// The client proves its identity by the key and the secret, within TLS. Used by one thread at a time.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/wire/openssl_api.h"

namespace opd::rpc {

// ---- certificates.cc: certificates and private keys of servers, from PEM files

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

// ---- connections

inline constexpr unsigned char kTlsGreeting = 22;  // the first byte that a client sends if it uses TLS

// A client's demands on the server's certificate: a signature of the authority, or a particular fingerprint.
struct TlsClientOptions {
  std::string authority_file;  // certificates, PEM; "": any signature will do
  std::string fingerprint;     // from normal_fingerprint(); "": any
  std::string name;            // name in a signed certificate; "": the host of the connection
  bool is_wanted() const { return !authority_file.empty() || !fingerprint.empty(); }
};

// No function waits. The caller waits for the wanted event.
class Tls {
 public:
  enum class Wants { kNothing, kInput, kOutput };

  // The caller still owns the descriptor. Throw OPD_UNSUPPORTED if OpenSSL is not available, and errors of the files.
  Tls(int descriptor, const TlsClientOptions &options);
  Tls(int descriptor, const TlsServerOptions &options);
  ~Tls();
  Tls(const Tls &) = delete;

  // Continues the handshake until it needs an event. Throws if the other side is refused, or uses another protocol.
  Wants shake_hands();
  // Returns the number of bytes read; 0: the peer has closed the connection; -1: nothing has arrived yet.
  ssize_t read(void *to, size_t size);
  // Returns the number of bytes taken; 0: `wants` is the event to wait for.
  size_t write(std::string_view bytes, Wants &wants);

 private:
  struct Input;
  void open(const SSL_METHOD *method);
  void connect_to_descriptor();
  void trust(const TlsClientOptions &options);
  void show(const Identity &identity);
  void finish();
  [[noreturn]] void fail_handshake();

  std::unique_ptr<SSL_CTX, Freed<&openssl::Api::SSL_CTX_free>> context_;
  std::unique_ptr<SSL, Freed<&openssl::Api::SSL_free>> connection_;
  const bool is_server_;
  const TlsClientOptions trusted_;  // used by a client
  const int descriptor_;
  bool is_at_end_ = false;  // the other side sends no more
};

}  // namespace opd::rpc
