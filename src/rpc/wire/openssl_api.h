// The part of OpenSSL 3 that the library uses, declared here so that no header is needed to build; a test compares it
// with OpenSSL's headers. libssl.so.3 is opened at the first use of TLS (reason: cmake/dependencies.cmake).
// Source: OpenSSL 3.0's manual pages, section 3.
#pragma once
#include <cstddef>
#include <cstdint>

#include "device/driver.h"

namespace opd::openssl {

struct Method;  // SSL_METHOD, and so on
struct Context;
struct Connection;
struct Bio;
struct BioMethod;
struct Certificate;
struct Key;
struct Digest;
struct Store;

using Allocate = void *(*)(size_t size, const char *file, int line);
using Reallocate = void *(*)(void *block, size_t size, const char *file, int line);
using Free = void (*)(void *block, const char *file, int line);
using Password = int (*)(char *buffer, int size, int is_writing, void *user_data);
using Verify = int (*)(int is_good, Store *store);

enum : int {
  kControlMode = 33,
  kControlReadAhead = 41,
  kControlAddCertificate = 89,
  kControlLeastVersion = 123,
  kTls13 = 0x0304,
  kPartialWrite = 1,
  kMovingWriteBuffer = 2,
  kVerifyNothing = 0,
  kVerifyPeer = 1,
  kVerified = 0,  // X509_V_OK
  kNeedsRead = 2,
  kNeedsWrite = 3,
  kClosed = 6,
  kBioSourceSink = 0x0400,
  kBioEnd = 2,
  kBioFlush = 11,
  kBioRetryRead = 0x09,   // BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY
  kBioRetryWrite = 0x0A,  // BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY
  kBioRetryBits = 0x0F,   // BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY
  kMostDigest = 64,
};
enum : uint64_t {
  kIgnoreUnexpectedEnd = 1 << 7,
  kNoRenegotiation = 1 << 30,
};

// Every function that is used: the X-macro's lines are name, result, parameters.
#define OPD_OPENSSL_FUNCTIONS(X)                                                          \
  X(OPENSSL_version_major, unsigned, (void))                                              \
  X(CRYPTO_set_mem_functions, int, (Allocate, Reallocate, Free))                          \
  X(TLS_client_method, const Method *, (void))                                            \
  X(TLS_server_method, const Method *, (void))                                            \
  X(SSL_CTX_new, Context *, (const Method *))                                             \
  X(SSL_CTX_free, void, (Context *))                                                      \
  X(SSL_CTX_ctrl, long, (Context *, int, long, void *))                                   \
  X(SSL_CTX_set_options, uint64_t, (Context *, uint64_t))                                 \
  X(SSL_CTX_set_verify, void, (Context *, int, Verify))                                   \
  X(SSL_CTX_load_verify_file, int, (Context *, const char *))                             \
  X(SSL_CTX_set_num_tickets, int, (Context *, size_t))                                    \
  X(SSL_new, Connection *, (Context *))                                                   \
  X(SSL_free, void, (Connection *))                                                       \
  X(SSL_ctrl, long, (Connection *, int, long, void *))                                    \
  X(SSL_set_bio, void, (Connection *, Bio *, Bio *))                                      \
  X(SSL_set1_host, int, (Connection *, const char *))                                     \
  X(SSL_get_verify_result, long, (const Connection *))                                    \
  X(SSL_set_connect_state, void, (Connection *))                                          \
  X(SSL_set_accept_state, void, (Connection *))                                           \
  X(SSL_do_handshake, int, (Connection *))                                                \
  X(SSL_read, int, (Connection *, void *, int))                                           \
  X(SSL_write, int, (Connection *, const void *, int))                                    \
  X(SSL_get_error, int, (const Connection *, int))                                        \
  X(SSL_get1_peer_certificate, Certificate *, (const Connection *))                       \
  X(SSL_use_certificate, int, (Connection *, Certificate *))                              \
  X(SSL_use_PrivateKey, int, (Connection *, Key *))                                       \
  X(SSL_certs_clear, void, (Connection *))                                                \
  X(BIO_new, Bio *, (const BioMethod *))                                                  \
  X(BIO_free, int, (Bio *))                                                               \
  X(BIO_new_mem_buf, Bio *, (const void *, int))                                          \
  X(BIO_get_new_index, int, (void))                                                       \
  X(BIO_meth_new, BioMethod *, (int, const char *))                                       \
  X(BIO_meth_set_read, int, (BioMethod *, int (*)(Bio *, char *, int)))                   \
  X(BIO_meth_set_write, int, (BioMethod *, int (*)(Bio *, const char *, int)))            \
  X(BIO_meth_set_ctrl, int, (BioMethod *, long (*)(Bio *, int, long, void *)))            \
  X(BIO_set_data, void, (Bio *, void *))                                                  \
  X(BIO_get_data, void *, (Bio *))                                                        \
  X(BIO_set_init, void, (Bio *, int))                                                     \
  X(BIO_set_flags, void, (Bio *, int))                                                    \
  X(BIO_clear_flags, void, (Bio *, int))                                                  \
  X(PEM_read_bio_X509, Certificate *, (Bio *, Certificate **, Password, void *))          \
  X(PEM_read_bio_PrivateKey, Key *, (Bio *, Key **, Password, void *))                    \
  X(X509_free, void, (Certificate *))                                                     \
  X(X509_check_private_key, int, (const Certificate *, const Key *))                      \
  X(X509_digest, int, (const Certificate *, const Digest *, unsigned char *, unsigned *)) \
  X(X509_verify_cert_error_string, const char *, (long))                                  \
  X(EVP_PKEY_free, void, (Key *))                                                         \
  X(EVP_sha256, const Digest *, (void))                                                   \
  X(ERR_get_error, unsigned long, (void))                                                 \
  X(ERR_reason_error_string, const char *, (unsigned long))                               \
  X(ERR_clear_error, void, (void))

struct Api : Driver<Api> {
#define OPD_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  OPD_OPENSSL_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE

  void open();
};

// Throws OPD_UNSUPPORTED with the reason if OpenSSL is not here.
const Api &api();
// To be called before a private key is read: memory that OpenSSL frees is wiped from then on. It frees the key's bytes
// in some places without wiping them. Without effect if the program itself has used OpenSSL before.
void wipe_freed_memory();
// What OpenSSL's last function of this thread complains about; the list of its complaints is empty then.
const char *reason();

}  // namespace opd::openssl
