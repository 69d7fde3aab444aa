#include "rpc/serve.h"

#include <sys/socket.h>

namespace opd::rpc {
namespace {

constexpr Socket::Time kStall = std::chrono::seconds(60), kGreeting = std::chrono::seconds(10);
constexpr int32_t kMostKey = 4096;

// Takes as long for all keys of that length, so that nobody learns one character by character.
bool is_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differing = 0;
  for (size_t i = 0; i < a.size(); ++i) differing |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differing == 0;
}

void write_number(Socket &socket, int32_t number) {
  socket.write({reinterpret_cast<const char *>(&number), sizeof number});
}

// The client says who it is: a magic number, then a text of "client:KEY" and options, with spaces between.
void greet(Socket &socket, const ServeOptions &options) {
  if (!socket.wait(kGreeting)) fail(OPD_IO, "the client closed the connection at once");
  int32_t head[2];
  socket.read(head, sizeof head);
  if (head[0] != kMagic) fail(OPD_BAD_FORMAT, "the client does not speak TVM's RPC: it begins with ", head[0]);
  if (head[1] < 0 || head[1] > kMostKey) fail(OPD_BAD_FORMAT, "the client's key has ", head[1], " bytes");
  std::string said(static_cast<size_t>(head[1]), '\0');
  socket.read(said.data(), said.size());
  const std::string_view name = std::string_view(said).substr(0, said.find(' '));
  const std::string &wanted = options.match_key.empty() ? options.key : options.match_key;
  if (!is_equal(name, "client:" + wanted)) {
    write_number(socket, kMismatch);
    fail(OPD_FAILED_PRECONDITION, "the client does not know the key");
  }
  const std::string own = "server:" + options.key;
  write_number(socket, kMagic);
  write_number(socket, static_cast<int32_t>(own.size()));
  socket.write(own);
}

}  // namespace

void serve(int descriptor, const ServeOptions &options) {
  int kind = 0;
  socklen_t size = sizeof kind;
  require(::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_STREAM, "the descriptor ",
          descriptor, " is no socket of a connection");
  Socket socket(descriptor, kStall);
  socket.end_at(std::chrono::steady_clock::now() + kGreeting);
  greet(socket, options);
  socket.end_at({});
  auto folder = std::make_shared<WorkFolder>(options.work_folder, options.limits.file_bytes);
  Session(socket, std::move(folder), options.limits).run();
}

}  // namespace opd::rpc
