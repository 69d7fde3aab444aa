// Reads certificates and private keys of servers from PEM files, and computes the fingerprints of certificates.
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "rpc/wire/tls.h"

namespace opd::rpc {
namespace {

using openssl::Api, openssl::api;
using BioRef = std::unique_ptr<BIO, Freed<&Api::BIO_free>>;

constexpr size_t kMostFile = 1 << 20;

// The content of a file. It is wiped at the end, because clients' programs run in this process later.
class PemFile {
 public:
  explicit PemFile(const std::string &path) : content_(read_file(path)) {
    if (content_.size() > kMostFile)
      fail(OPD_BAD_FORMAT, path, " has ", content_.size(), " bytes, which no PEM file has");
    bio_.reset(api().BIO_new_mem_buf(content_.data(), static_cast<int>(content_.size())));
    if (!bio_) fail(OPD_OUT_OF_MEMORY, "OpenSSL has no memory for ", path);
  }
  ~PemFile() { ::explicit_bzero(content_.data(), content_.size()); }
  PemFile(const PemFile &) = delete;

  X509 *next_certificate() { return api().PEM_read_bio_X509(bio_.get(), nullptr, no_password, nullptr); }
  EVP_PKEY *key() { return api().PEM_read_bio_PrivateKey(bio_.get(), nullptr, no_password, nullptr); }

 private:
  // Without this function, OpenSSL asks for the password at the terminal.
  static int no_password(char *, int, int, void *) { return -1; }

  std::string content_;
  BioRef bio_;
};

std::vector<CertificateRef> read_certificates(const std::string &path) {
  PemFile file(path);
  std::vector<CertificateRef> all;
  while (X509 *const one = file.next_certificate()) all.emplace_back(one);
  api().ERR_clear_error();  // clears the error at the end of the file
  if (all.empty()) fail(OPD_BAD_FORMAT, path, " has no certificate (PEM)");
  return all;
}

KeyRef read_key(const std::string &path) {
  PemFile file(path);
  KeyRef key(file.key());
  if (!key) fail(OPD_BAD_FORMAT, path, " has no private key (PEM, without a password): ", openssl::reason());
  return key;
}

}  // namespace

Identity read_identity(const TlsServerOptions &options) {
  openssl::wipe_freed_memory();
  Identity made{read_certificates(options.certificate_file), read_key(options.key_file)};
  const bool is_pair = api().X509_check_private_key(made.certificates.front().get(), made.key.get());
  api().ERR_clear_error();
  require(is_pair, options.key_file, " is not the private key of the certificate in ", options.certificate_file);
  return made;
}

std::string fingerprint_of(const X509 *certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  Sha256 hash{};
  if (!api().X509_digest(certificate, api().EVP_sha256(), bytes.data(), &size) || size != hash.size())
    fail(OPD_CALL_FAILED, "OpenSSL cannot hash a certificate: ", openssl::reason());
  std::memcpy(hash.data(), bytes.data(), hash.size());
  return hex(hash);
}

std::string server_fingerprint(const TlsServerOptions &options) {
  return fingerprint_of(read_identity(options).certificates.front().get());
}

std::string normal_fingerprint(std::string_view given) {
  std::string digits;
  for (const char c : given)
    if (c != ':') digits += c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  const bool is_hash =
      digits.size() == 2 * Sha256().size() && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  require(is_hash, "\"", given,
          "\" is not a fingerprint of a certificate: a fingerprint is a SHA-256, 64 hexadecimal digits");
  return digits;
}

}  // namespace opd::rpc
