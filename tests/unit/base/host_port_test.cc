// Addresses as users write them.
#include "base/host_port.h"

#include <gtest/gtest.h>

#include "support/refusal.h"

namespace opd {
namespace {

TEST(AHostAndAPort, AreSplitAtTheColon) {
  const auto parts = [](std::string_view given) {
    const HostPort made = HostPort::parse(given);
    EXPECT_EQ(made.text(), given);
    return made.host + " " + made.port;
  };
  EXPECT_EQ(parts("a:1"), "a 1");
  EXPECT_EQ(parts("a:0"), "a 0");
  EXPECT_EQ(parts("a:65535"), "a 65535");
  EXPECT_EQ(parts("[::1]:9"), "::1 9");
  for (const std::string none :
       {"", "a", ":1", "a:", "a:65536", "a:-1", "a:1x", "a:1 ", "[]:1", "[::1]", "[::1]9", "::1:9"})
    EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [&] { HostPort::parse(none); }),
              "\"" + none + "\" is not an address; write it as HOST:PORT, for example 127.0.0.1:9090");
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [] { HostPort::parse("[::1:9"); }), "\"[::1:9\" has a '[' without a ']'");
}

TEST(AHostAndAPort, MayHaveAUsualPort) {
  const auto port = [](std::string_view given) { return HostPort::parse(given, "80", "whole").port; };
  EXPECT_EQ(port("a"), "80");
  EXPECT_EQ(port("[::1]"), "80");
  EXPECT_EQ(port("a:81"), "81");
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [&] { port("a:"); }),
            "\"whole\" is not an address; write it as HOST:PORT, for example 127.0.0.1:9090");
}

}  // namespace
}  // namespace opd
