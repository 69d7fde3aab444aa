#include "telemetry/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/file.h"
#include "base/host_port.h"

namespace opd {

int listen_at(std::string &address) {
  HostPort at = HostPort::parse(address);
  if (at.host == "localhost") at.host = "127.0.0.1";
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  require(::getaddrinfo(at.host.c_str(), at.port.c_str(), &wanted, &found) == 0, "\"", at.host,
          "\" is no address of this machine: a number is expected, as 127.0.0.1");
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> addresses(found, &::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  constexpr int kBacklog = 128;
  if (fd < 0 || ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr *>(&own), &size) != 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    fail_errno("cannot listen at", at.text(), error);
  }
  at.port = concat(ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&own)->sin6_port
                                                   : reinterpret_cast<sockaddr_in *>(&own)->sin_port));
  address = at.text();
  return fd;
}

HttpUrl HttpUrl::parse(const std::string &text) {
  constexpr std::string_view kHttp = "http://";
  if (text.starts_with("https://"))
    fail(OPD_UNSUPPORTED, text, ": opdyno sends without TLS; send to a collector on this machine, which can use it");
  require(text.starts_with(kHttp), "\"", text, "\" must begin with http://");
  for (const char c : text)
    require(c > ' ' && c < 0x7F && c != '@' && c != '?' && c != '#', "\"", text,
            "\" has a character that no address of a collector has");
  std::string_view rest = std::string_view(text).substr(kHttp.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  HostPort at = HostPort::parse(rest.substr(0, slash), "80", text);
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  return {std::move(at.host), std::move(at.port), std::string(path)};
}

std::string HttpUrl::authority() const { return HostPort{host, port}.text(); }

}  // namespace opd
