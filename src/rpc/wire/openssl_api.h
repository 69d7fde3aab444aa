// OpenSSL's functions that the library uses. libssl.so.3 is opened at the first use of TLS (reason:
// cmake/dependencies.cmake).
// Source: OpenSSL 3.0's manual pages, section 3.
#pragma once
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "device/driver.h"

namespace opd::openssl {

// clang-format off
#define OPD_OPENSSL_FUNCTIONS(X) \
  X(OPENSSL_version_major) X(CRYPTO_set_mem_functions) X(TLS_client_method) X(TLS_server_method) X(SSL_CTX_new) \
  X(SSL_CTX_free) X(SSL_CTX_ctrl) X(SSL_CTX_set_options) X(SSL_CTX_set_verify) X(SSL_CTX_load_verify_file) \
  X(SSL_CTX_set_num_tickets) X(SSL_new) X(SSL_free) X(SSL_ctrl) X(SSL_set_bio) X(SSL_set1_host) \
  X(SSL_get_verify_result) X(SSL_set_connect_state) X(SSL_set_accept_state) X(SSL_do_handshake) X(SSL_read) \
  X(SSL_write) X(SSL_get_error) X(SSL_get1_peer_certificate) X(SSL_use_certificate) X(SSL_use_PrivateKey) \
  X(SSL_certs_clear) X(BIO_new) X(BIO_free) X(BIO_new_mem_buf) X(BIO_get_new_index) X(BIO_meth_new) \
  X(BIO_meth_set_read) X(BIO_meth_set_write) X(BIO_meth_set_ctrl) X(BIO_set_data) X(BIO_get_data) X(BIO_set_init) \
  X(BIO_set_flags) X(BIO_clear_flags) X(PEM_read_bio_X509) X(PEM_read_bio_PrivateKey) X(X509_free) \
  X(X509_check_private_key) X(X509_digest) X(X509_verify_cert_error_string) X(EVP_PKEY_free) X(EVP_sha256) \
  X(ERR_get_error) X(ERR_reason_error_string) X(ERR_clear_error)
// clang-format on

struct Api : Driver<Api> {
#define OPD_DECLARE(name) decltype(&::name) name = nullptr;
  OPD_OPENSSL_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE

  void open();
};

// Throws OPD_UNSUPPORTED with the reason if OpenSSL is not available.
const Api &api();
// Wipes all memory that OpenSSL frees from now on. Called before a private key is read, because OpenSSL frees some
// copies of the key without wiping them. No effect if the program itself has used OpenSSL before.
void wipe_freed_memory();
// The error of OpenSSL's last function in this thread. Clears the thread's list of errors.
const char *reason();

}  // namespace opd::openssl
