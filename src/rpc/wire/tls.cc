#include "rpc/wire/tls.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace opd::rpc {

using namespace openssl;

// OpenSSL's input and output (BIO) on the connection. OpenSSL's own BIO for sockets would wait and raise SIGPIPE.
struct Tls::Input {
  static Tls &of(BIO *bio) { return *static_cast<Tls *>(Api::get().BIO_get_data(bio)); }

  static int read(BIO *bio, char *to, int size) {
    Tls &tls = of(bio);
    const ssize_t found = ::recv(tls.descriptor_, to, static_cast<size_t>(size), MSG_DONTWAIT);
    tls.is_at_end_ = found == 0 || (found < 0 && errno == ECONNRESET);
    return noted(bio, tls.is_at_end_ ? 0 : found, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
  }
  static int write(BIO *bio, const char *from, int size) {
    return noted(bio, ::send(of(bio).descriptor_, from, static_cast<size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL),
                 BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
  }
  static long control(BIO *bio, int command, long, void *) {
    if (command == BIO_CTRL_EOF) return of(bio).is_at_end_;
    return command == BIO_CTRL_FLUSH;
  }
  static int noted(BIO *bio, ssize_t done, int retry) {
    Api::get().BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) Api::get().BIO_set_flags(bio, retry);
    return static_cast<int>(done);
  }

  static const BIO_METHOD *method() {  // null: out of memory
    static BIO_METHOD *const made = [] {
      const Api &ssl = api();
      BIO_METHOD *const one = ssl.BIO_meth_new(ssl.BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "opdyno");
      if (one)
        ssl.BIO_meth_set_read(one, read), ssl.BIO_meth_set_write(one, write), ssl.BIO_meth_set_ctrl(one, control);
      return one;
    }();
    return made;
  }
};

Tls::Tls(int descriptor, const TlsClientOptions &options)
    : is_server_(false), trusted_(options), descriptor_(descriptor) {
  open(api().TLS_client_method());
  trust(options);
  connect_to_descriptor();
  if (!options.authority_file.empty() && !api().SSL_set1_host(connection_.get(), options.name.c_str()))
    fail(OPD_INVALID_ARGUMENT, "\"", options.name, "\" is not a name that a certificate can have");
  api().SSL_set_connect_state(connection_.get());
}

Tls::Tls(int descriptor, const TlsServerOptions &options) : is_server_(true), descriptor_(descriptor) {
  const Identity identity = read_identity(options);
  open(api().TLS_server_method());
  connect_to_descriptor();
  show(identity);
  api().SSL_set_accept_state(connection_.get());
}

Tls::~Tls() = default;

void Tls::open(const SSL_METHOD *method) {
  const Api &ssl = api();
  context_.reset(ssl.SSL_CTX_new(method));
  const auto set = [&](int what, long value) { return ssl.SSL_CTX_ctrl(context_.get(), what, value, nullptr); };
  if (!context_ || !set(SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION))
    fail(OPD_CALL_FAILED, "OpenSSL cannot begin: ", reason());
  // With this option, one system call receives all available bytes. Otherwise the head of a record would need another.
  set(SSL_CTRL_SET_READ_AHEAD, 1),
      set(SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // If the connection ends inside a message, the message's length shows it.
  ssl.SSL_CTX_set_options(context_.get(), SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
  ssl.SSL_CTX_set_num_tickets(context_.get(), 0);  // TLS sessions are not resumed
}

void Tls::trust(const TlsClientOptions &options) {
  const Api &ssl = api();
  const std::string &file = options.authority_file;
  if (!file.empty() && !ssl.SSL_CTX_load_verify_file(context_.get(), file.c_str())) {
    ssl.ERR_clear_error();
    read_file(file);  // throws if it cannot be read
    fail(OPD_BAD_FORMAT, file, " has no certificate (PEM)");
  }
  // If a fingerprint is given, the certificate needs no signature and no valid dates.
  ssl.SSL_CTX_set_verify(context_.get(), file.empty() ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
}

void Tls::connect_to_descriptor() {
  const Api &ssl = api();
  connection_.reset(ssl.SSL_new(context_.get()));
  BIO *const bio = connection_ && Input::method() ? ssl.BIO_new(Input::method()) : nullptr;
  if (!bio) fail(OPD_OUT_OF_MEMORY, "OpenSSL has no memory for a connection");
  ssl.BIO_set_data(bio, this), ssl.BIO_set_init(bio, 1);
  ssl.SSL_set_bio(connection_.get(), bio, bio);  // the connection owns `bio` from here on
}

// The key is set in the connection, not in the context, so that finish() can remove it.
void Tls::show(const Identity &identity) {
  const Api &ssl = api();
  bool is_good = ssl.SSL_use_certificate(connection_.get(), identity.certificates.front().get()) &&
                 ssl.SSL_use_PrivateKey(connection_.get(), identity.key.get());
  for (size_t i = 1; i < identity.certificates.size(); ++i)
    is_good = is_good && ssl.SSL_ctrl(connection_.get(), SSL_CTRL_CHAIN_CERT, 1, identity.certificates[i].get());
  if (!is_good) fail(OPD_INVALID_ARGUMENT, "OpenSSL refuses the certificate or its key: ", reason());
}

Tls::Wants Tls::shake_hands() {
  const Api &ssl = api();
  ssl.ERR_clear_error();
  const int status = ssl.SSL_do_handshake(connection_.get());
  if (status == 1) return finish(), Wants::kNothing;
  switch (ssl.SSL_get_error(connection_.get(), status)) {
    case SSL_ERROR_WANT_READ:
      return Wants::kInput;
    case SSL_ERROR_WANT_WRITE:
      return Wants::kOutput;
    default:
      fail_handshake();
  }
}

void Tls::finish() {
  const Api &ssl = api();
  if (is_server_) return ssl.SSL_certs_clear(connection_.get());  // programs of the client run in this process later
  if (trusted_.fingerprint.empty()) return;
  const CertificateRef shown(ssl.SSL_get1_peer_certificate(connection_.get()));
  const std::string its = shown ? fingerprint_of(shown.get()) : "";
  if (!is_equal_in_constant_time(its, trusted_.fingerprint))
    fail(OPD_FAILED_PRECONDITION, "the server has another certificate: its fingerprint is ", its, ", not ",
         trusted_.fingerprint);
}

void Tls::fail_handshake() {
  const Api &ssl = api();
  const std::string why = reason();
  if (is_at_end_)
    fail(OPD_IO, is_server_
                     ? "the client closed the connection during the TLS handshake"
                     : "the server closed the connection instead of a TLS handshake, as a server without TLS does");
  if (is_server_ && why.find("alert") != why.npos)
    fail(OPD_FAILED_PRECONDITION, "the client refuses the certificate: ", why);
  const bool verifies = !is_server_ && !trusted_.authority_file.empty();
  const long verdict = verifies ? ssl.SSL_get_verify_result(connection_.get()) : long{X509_V_OK};
  if (verdict != X509_V_OK)
    fail(OPD_FAILED_PRECONDITION, "the server's certificate is refused: ", ssl.X509_verify_cert_error_string(verdict),
         " (", trusted_.authority_file, ", for ", trusted_.name, ")");
  fail(OPD_BAD_FORMAT, "the ", is_server_ ? "client" : "server", " does not speak TLS 1.3: ", why);
}

ssize_t Tls::read(void *to, size_t size) {
  const Api &ssl = api();
  ssl.ERR_clear_error();
  const int found = ssl.SSL_read(connection_.get(), to, static_cast<int>(std::min<size_t>(size, INT32_MAX)));
  if (found > 0) return found;
  const int status = ssl.SSL_get_error(connection_.get(), found);
  if (status == SSL_ERROR_WANT_READ || status == SSL_ERROR_WANT_WRITE) return -1;
  if (status == SSL_ERROR_ZERO_RETURN || is_at_end_) return 0;
  fail(OPD_IO, "what the peer sends is not what it wrote: ", reason());
}

size_t Tls::write(std::string_view bytes, Wants &wants) {
  const Api &ssl = api();
  ssl.ERR_clear_error();
  const int taken =
      ssl.SSL_write(connection_.get(), bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), INT32_MAX)));
  if (taken > 0) return static_cast<size_t>(taken);
  const int error = errno, status = ssl.SSL_get_error(connection_.get(), taken);
  if (status != SSL_ERROR_WANT_READ && status != SSL_ERROR_WANT_WRITE)
    fail(OPD_IO, "cannot write to the peer: ", error_text(error));
  wants = status == SSL_ERROR_WANT_READ ? Wants::kInput : Wants::kOutput;
  return 0;
}

}  // namespace opd::rpc
