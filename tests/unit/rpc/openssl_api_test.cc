// The library's own declarations of OpenSSL against its headers, where these are installed (libssl-dev).
#include "rpc/wire/openssl_api.h"

#include <gtest/gtest.h>

#if __has_include(<openssl/ssl.h>)
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "unit/device/called_alike.h"

namespace opd::openssl {
namespace {

#define OPD_COMPARE(name, result, parameters) \
  static_assert(kCalledAlike<decltype(Api::name), decltype(&::name)>, #name);
OPD_OPENSSL_FUNCTIONS(OPD_COMPARE)
#undef OPD_COMPARE

TEST(OpenSslDeclarations, HaveTheNumbersOfItsHeaders) {
  EXPECT_EQ(+kControlMode, SSL_CTRL_MODE);
  EXPECT_EQ(+kControlReadAhead, SSL_CTRL_SET_READ_AHEAD);
  EXPECT_EQ(+kControlAddCertificate, SSL_CTRL_CHAIN_CERT);
  EXPECT_EQ(+kControlLeastVersion, SSL_CTRL_SET_MIN_PROTO_VERSION);
  EXPECT_EQ(+kTls13, TLS1_3_VERSION);
  EXPECT_EQ(+kPartialWrite, static_cast<int>(SSL_MODE_ENABLE_PARTIAL_WRITE));
  EXPECT_EQ(+kMovingWriteBuffer, static_cast<int>(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER));
  EXPECT_EQ(+kVerifyNothing, SSL_VERIFY_NONE);
  EXPECT_EQ(+kVerifyPeer, SSL_VERIFY_PEER);
  EXPECT_EQ(+kVerified, X509_V_OK);
  EXPECT_EQ(+kNeedsRead, SSL_ERROR_WANT_READ);
  EXPECT_EQ(+kNeedsWrite, SSL_ERROR_WANT_WRITE);
  EXPECT_EQ(+kClosed, SSL_ERROR_ZERO_RETURN);
  EXPECT_EQ(+kBioSourceSink, BIO_TYPE_SOURCE_SINK);
  EXPECT_EQ(+kBioEnd, BIO_CTRL_EOF);
  EXPECT_EQ(+kBioFlush, BIO_CTRL_FLUSH);
  EXPECT_EQ(+kBioRetryRead, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
  EXPECT_EQ(+kBioRetryWrite, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
  EXPECT_EQ(+kBioRetryBits, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  EXPECT_EQ(+kMostDigest, EVP_MAX_MD_SIZE);
  EXPECT_EQ(+kIgnoreUnexpectedEnd, SSL_OP_IGNORE_UNEXPECTED_EOF);
  EXPECT_EQ(+kNoRenegotiation, SSL_OP_NO_RENEGOTIATION);
}

}  // namespace
}  // namespace opd::openssl
#else
TEST(OpenSslDeclarations, HaveTheNumbersOfItsHeaders) { GTEST_SKIP() << "openssl/ssl.h is not installed"; }
#endif
