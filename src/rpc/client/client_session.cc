#include "rpc/client/client_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "base/environment.h"
#include "rpc/wire/progress.h"
#include "trace/record/library_range.h"
#include "trace/record/run_recorder.h"
#include "value/dtype.h"

namespace opd::rpc {
namespace {

constexpr size_t kMostOwed = 64;  // most answers that no call waits for; more would fill the socket buffers
constexpr uint64_t kMostAnswer = uint64_t{4} << 30;          // most bytes of an answer
constexpr size_t kPiece = size_t{64} << 20;                  // most bytes of a tensor in one packet
constexpr const char *kConnectionError = "ConnectionError";  // Python's exception, a subclass of OSError

// A session's index is reused after its end, its serial number is not. So cached facts about a session's devices are
// tied to the serial number.
std::atomic<uint64_t> serials{0};

struct Sessions {
  ForkMutex guard{LockRank::kDeviceTables};
  // The pointers are weak, so that a session's end frees its place at once.
  std::array<std::weak_ptr<ClientSession>, kMostSessions> list;
};
Sessions &sessions() {
  static auto *const all = new Sessions;  // never destroyed, because tensors may end while the process exits
  return *all;
}

int32_t enter(const std::shared_ptr<ClientSession> &session) {
  Sessions &all = sessions();
  const std::scoped_lock lock(all.guard);
  for (int32_t i = 0; i < kMostSessions; ++i) {
    auto &place = all.list[static_cast<size_t>(i)];
    if (!place.expired()) continue;
    place = session;
    return i;
  }
  fail(OPD_OUT_OF_RANGE, "a process has at most ", kMostSessions, " sessions at once");
}

opd_code code_of(std::string_view kind) {
  static constexpr std::pair<std::string_view, opd_code> kKnown[] = {
      {"ValueError", OPD_INVALID_ARGUMENT}, {"TypeError", OPD_INVALID_ARGUMENT},
      {"IndexError", OPD_OUT_OF_RANGE},     {"MemoryError", OPD_OUT_OF_MEMORY},
      {"InterruptedError", OPD_CANCELLED},  {"TimeoutError", OPD_DEADLINE_EXCEEDED},
  };
  for (const auto &[known, code] : kKnown)
    if (known == kind) return code;
  return OPD_CALL_FAILED;
}

// Servers send "Kind: message".
[[noreturn]] void fail_there(std::string_view text, const std::string &address) {
  // A kind is the name of a Python exception. Any other text before a colon, such as a path, belongs to the message.
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
  const size_t colon = text.find(": ");
  std::string kind;
  if (colon != text.npos && colon > 0 &&
      std::all_of(text.begin(), text.begin() + static_cast<ptrdiff_t>(colon), is_letter))
    kind = text.substr(0, colon), text.remove_prefix(colon + 2);
  while (text.ends_with('\n')) text.remove_suffix(1);
  fail_as(kind.empty() ? "RuntimeError" : kind.c_str(), code_of(kind), text, " (on ", address, ")");
}

// The text of an exception.
std::string said_in(std::string_view answer) {
  ByteReader body = values_of(answer);
  const std::optional<Value> text = read_plain(body, read_type(body));
  return text && is_text(*text) ? std::string(as_text(*text, "the error")) : "an error without a message";
}

// The reason why the session ends, if this exception has one; else "".
std::string end_in(std::string_view answer) {
  try {
    const std::string said = said_in(answer);
    if (said.starts_with(kEndAnswer) || said == kDamageAnswer) return said.substr(said.find(": ") + 2);
  } catch (const Exception &) {}  // the answer is malformed
  return "";
}

// The head of a request to copy a part of a tensor.
std::string copy_request(Code code, const RemoteTensor &whole, size_t begin, size_t size) {
  RemoteTensor part = whole;
  part.dtype = {kDLUInt, 8, 1};
  part.dims = {static_cast<int64_t>(size)};
  part.byte_offset += begin;
  ByteWriter head;
  head.write(code);
  part.write(head);
  head.write(uint64_t{size});
  return head.take();
}

// Users turn checksums off for connections with other checks, such as an ssh tunnel. With checksums, copies over the
// loopback take a quarter more processor time.
bool are_checksums_off() { return environment("OPDYNO_RPC_CHECKSUMS") == "0"; }

uint64_t handle_in(std::string_view answer) {
  ByteReader body = values_of(answer);
  switch (read_type(body)) {
    case OPD_NONE:
      return 0;
    case OPD_POINTER:
      return body.read<uint64_t>("handle");
    default:
      body.bad("value", "is not a handle");
  }
}

}  // namespace

// Holds the exclusive right to use the connection. Requests to free objects that are queued during the turn are sent
// when it ends.
class ClientSession::Turn {
 public:
  explicit Turn(ClientSession &session) : session_(session) {
    while (session_.is_busy_.exchange(true, std::memory_order_acquire)) session_.is_busy_.wait(true);
  }
  ~Turn() { session_.end_turn(); }
  Turn(const Turn &) = delete;

 private:
  ClientSession &session_;
};

ClientSession::ClientSession(const HostPort &server, const ClientOptions &options)
    : address_(server.text()),
      answer_limit_(options.answer_limit),
      descriptor_(connect_to(server, options.connect_limit, "the server")),
      socket_(descriptor_.get(), kStall),
      serial_(++serials),
      usual_context_(TraceContext::parse(environment("TRACEPARENT")).value_or(TraceContext{})) {}

std::shared_ptr<ClientSession> ClientSession::connect(const HostPort &server, const ClientOptions &options) {
  const std::shared_ptr<ClientSession> made(new ClientSession(server, options));
  ClientOptions how = options;
  if (how.tls.name.empty()) how.tls.name = server.host;
  made->begin(how);
  // enter() comes last, so that only a session that the server has accepted takes a place.
  made->index_ = enter(made);
  return made;
}

std::shared_ptr<ClientSession> ClientSession::at(int32_t index) {
  if (index < 0 || index >= kMostSessions) return nullptr;
  Sessions &all = sessions();
  const std::scoped_lock lock(all.guard);
  return all.list[static_cast<size_t>(index)].lock();
}

// Calls a built-in function of the server and returns its text. "": the server lacks the function, as TVM's servers do.
std::string ClientSession::told(const char *name) {
  const uint64_t function = find(name);
  if (!function) return "";
  const Value text = call(function, name, {});
  free_object(function);
  return std::string(as_text(text, name));
}

// The answer has no checksum yet; all later frames of both sides have one. No other thread has the session yet, so none
// can send in between.
void ClientSession::ask_for_checksums() {
  const uint64_t function = find(kChecksumFunction);
  if (!function) return;  // an older server
  call(function, kChecksumFunction, {});
  frames_.begin_checksums();
  free_object(function);
}

void ClientSession::begin(const ClientOptions &options) {
  std::string said = options.key;
  if (options.session_limit.count())
    said += concat(" -timeout=", std::chrono::ceil<std::chrono::milliseconds>(options.session_limit).count() / 1e3);
  try {
    // One limit covers all steps together.
    socket_.end_at(std::chrono::steady_clock::now() + options.connect_limit);
    // TLS starts before the greeting, so that the greeting is encrypted.
    if (options.tls.is_wanted()) socket_.secure(std::make_unique<Tls>(descriptor_.get(), options.tls));
    key_ = greet_server(socket_, said, options.secret);
    PacketWriter start(Code::kInitServer);
    start.write_text(kProtocolVersion);
    ask({.packet = start.take(), .place = "at its start"});
    // The extensions of opdyno's servers are used only if the server has this function.
    version_ = told(kVersionFunction);
    if (!version_.empty()) {
      host_ = told(kHostFunction);
      if (!socket_.is_secure() && !are_checksums_off()) ask_for_checksums();
    }
    socket_.end_at({});
  } catch (const Exception &e) {
    close();
    const Error &error = *e.error();
    fail_as(error.kind.c_str(), error.code, "there is no session with ", address_, ": ", error.message);
  }
}

ClientSession::~ClientSession() { close(); }

void ClientSession::close() noexcept {
  if (generation_ != fork_generation() || !is_open_.exchange(false))
    return;  // in a child of fork(), the connection is the parent's
  // close() does not wait for a turn, because destructors call it and another request may take long.
  const bool is_idle = !is_busy_.exchange(true, std::memory_order_acquire);
  try {
    note_end("it was closed");
    if (is_idle) {  // else a request is running, and it ends with the connection
      ByteWriter packet;
      packet.write(Code::kShutdown);
      frames_.write(packet.take());
    }
  } catch (const std::exception &) {}  // the server sees the end of the connection
  if (is_idle) end_turn();             // the next thread in line finds the session closed
  // The descriptor stays open as long as the object. Otherwise a waiting thread could wait for a new file with the same
  // number.
  ::shutdown(descriptor_.get(), SHUT_RDWR);
}

void ClientSession::note_end(std::string reason) {
  const std::scoped_lock lock(guard_);
  if (reason_.empty()) reason_ = std::move(reason);
  frees_.clear();
}

std::string ClientSession::absence() const {
  if (generation_ != fork_generation()) return "the session belongs to the process that called fork()";
  if (is_open_.load()) return "";
  const std::scoped_lock lock(guard_);
  return concat("the session with ", address_, " has ended: ", reason_);
}

void ClientSession::require_open(std::string_view place) const {
  if (generation_ == fork_generation() && is_open_.load()) [[likely]]
    return;
  fail_as(kConnectionError, OPD_IO, "nothing can be done ", place, ": ", absence());
}

void ClientSession::end(std::string_view place, const std::string &reason) {
  // The reason is set before the flag, because a thread that finds the session closed reads the reason.
  note_end(concat(reason, " ", place));
  is_open_ = false;
  ::shutdown(descriptor_.get(), SHUT_RDWR);
  fail_as(kConnectionError, OPD_IO, "the session with ", address_, " ended ", place, ": ", reason);
}

DLDevice ClientSession::here(DLDevice device) const {
  if (device.device_type < 0 || device.device_type >= kDevicesOfSession)
    fail(OPD_UNSUPPORTED, "the device ", device_name(device), " of the server is of a session there");
  // Each session has its own range of device types, so a tensor's device identifies its session.
  return {static_cast<DLDeviceType>(device.device_type + kDevicesOfSession * (index_ + 1)), device.device_id};
}

DLDevice ClientSession::there(DLDevice device) const {
  if (device.device_type / kDevicesOfSession != index_ + 1)
    fail(OPD_INVALID_ARGUMENT, device_name(device), " is not a device of the session with ", address_);
  return {static_cast<DLDeviceType>(device.device_type % kDevicesOfSession), device.device_id};
}

// ---- packets
//
// Requests have no ids: the server processes them one by one and answers in order. If a caller gives up (a limit, a
// cancelled call), the answer to its request still arrives later. Requests that free objects do not wait for their
// answers, because destructors must not wait. `owed_` counts all such answers; the next request reads them first.

// Sends the packets that other threads queued during the turn. The flag is cleared before the list is checked. A thread
// that adds to the list after that finds the flag clear and sends its packet itself (free_later()). So no packet is
// left behind, unless too many answers are owed.
void ClientSession::end_turn() noexcept {
  bool is_full = false;
  do {
    try {
      // Only answers that have arrived are read. The limit is 1 ns, because 0 means no limit.
      while (owed_ > 0 && is_open_.load() && socket_.has_input(Socket::Time{1}))
        skip_answer("while objects were freed");
      send_frees();
    } catch (const std::exception &) {}  // the next request fails, too
    // If too many answers are owed, the next request waits for them and sends the rest: see settle().
    is_full = owed_ >= kMostOwed;
    is_busy_.store(false, std::memory_order_release);
    is_busy_.notify_one();
    const std::scoped_lock lock(guard_);
    if (frees_.empty() || is_full || !is_open_.load()) return;
  } while (!is_busy_.exchange(true, std::memory_order_acquire));
}

bool ClientSession::send_frees() {
  std::string frames;
  size_t count = 0;
  {
    const std::scoped_lock lock(guard_);
    for (; !frees_.empty() && owed_ + count < kMostOwed; ++count, frees_.pop_front())
      frames += frames_.framed(frees_.front());
  }
  // After the end of the session the packets are dropped, because the server has freed everything.
  if (!is_open_.load() || count == 0) return false;
  owed_ += count;
  // The lock is not held here, so that free_later() does not wait while the server reads slowly.
  socket_.write(frames);
  return true;
}

template <class Add>
void ClientSession::free_later(Code code, const Add &add) noexcept {
  if (generation_ != fork_generation() || !is_open_.load()) return;
  try {
    PacketWriter packet(code);
    add(packet);
    const std::scoped_lock lock(guard_);
    frees_.push_back(packet.take());
  } catch (const std::bad_alloc &) { return; }  // the server keeps the object until the session ends
  if (!is_busy_.exchange(true, std::memory_order_acquire)) end_turn();
}

ClientSession::Answer ClientSession::ask(const Request &request) {
  require_open(request.place);
  std::optional<LibraryRange> range;
  // The range begins before the turn, so it includes the wait for it.
  if (request.what) range.emplace(request.what, request.name);
  const Turn turn(*this);
  Answer answer = exchange(request);
  if (answer.code == Code::kException) fail_there(said_in(answer.body), address_);
  return answer;
}

ClientSession::Answer ClientSession::exchange(const Request &request) {
  // The session is checked again, because it may have ended while this thread waited for its turn.
  require_open(request.place);
  settle(request);
  const std::string context = request.is_call ? context_packet(request) : "";
  // If the server stops reading during a request, the session ends, even if the wait has a limit.
  try {
    if (!context.empty()) frames_.write(context), ++owed_;
    frames_.write(request.packet, request.rest);
  } catch (const Exception &e) {
    receive_end(request);
    end(request.place, e.error()->message);
  }
  ++owed_;  // counted until it arrives: if the wait ends early, a later request skips this answer
  // Answers arrive in the order of their requests, so the owed ones come first.
  for (; owed_ > 1; skip_answer(request.place)) await_answer(request);
  await_answer(request);
  --owed_;
  return receive(request);
}

// If the server has ended the session, it may have said why before. Throws that reason.
void ClientSession::receive_end(const Request &request) {
  for (size_t i = 0; i < kMostOwed && socket_.has_input(Socket::Time{1}); ++i) receive(request);
}

// A packet with the call's trace context; "" if the server has it already. The packet goes before the request. Its
// answer is read before the request's answer.
std::string ClientSession::context_packet(const Request &request) {
  TraceContext wanted = trace_context();
  if (!wanted.is_any()) wanted = usual_context_;
  if (wanted == told_context_ || version_.empty()) return "";
  if (!context_function_) {
    // This request is not a call, so it needs no trace context itself.
    const Answer answer = exchange({.packet = PacketWriter(Code::kGetGlobalFunc).add_text(kTraceParentFunction).take(),
                                    .place = request.place,
                                    .patience = request.patience});
    context_function_ = answer.code == Code::kReturn ? handle_in(answer.body) : 0;
  }
  told_context_ = wanted;
  if (*context_function_ == 0) return "";
  return PacketWriter(Code::kCallFunc, *context_function_).add_text(wanted.is_any() ? wanted.to_text() : "").take();
}

void ClientSession::await_answer(const Request &request) {
  Patience patience = request.patience;
  if (!patience.limit.count()) patience.limit = answer_limit_;
  await(socket_, patience, request.place);
}

// An error in here ends the session, because the next frame cannot be found after a part of a frame.
ClientSession::Answer ClientSession::receive(const Request &request) {
  uint64_t size;
  Answer answer;
  try {
    if (!socket_.wait(kStall)) fail(OPD_IO, "the server closed the connection; what it ran may have crashed");
    do size = frames_.read_size();
    while (size == 0);
    if (size < sizeof(Code) || size > kMostAnswer) fail(OPD_IO, "an answer has ", size, " bytes");
    frames_.read(&answer.code, sizeof answer.code);
    size -= sizeof answer.code;
    // The bytes are read directly into the caller's memory, but only if the server sends as many as requested.
    if (answer.code == Code::kCopyAck && request.into && size == request.size) {
      frames_.read(request.into, size);
      frames_.end();
      return answer;
    }
    frames_.read_rest(answer.body, size);
  } catch (const Exception &e) { end(request.place, e.error()->message); }
  if (answer.code != Code::kReturn && answer.code != Code::kException && answer.code != Code::kCopyAck)
    end(request.place, concat("the server answers with the code ", static_cast<int32_t>(answer.code)));
  if (answer.code == Code::kException)
    if (const std::string reason = end_in(answer.body); !reason.empty()) end(request.place, reason);
  return answer;
}

void ClientSession::settle(const Request &request) {
  do
    while (owed_ > 0) {
      await_answer(request);
      skip_answer(request.place);
    }
  while (send_frees());
}

// If the caller of a call did not wait, the call's result is freed.
void ClientSession::skip_answer(std::string_view place) {
  // `into` is not set: the caller has given up, so the copy must not write into its memory.
  const Answer answer = receive({.packet = {}, .place = place});
  --owed_;
  if (answer.code != Code::kReturn) return;
  try {
    if (const uint64_t object = object_in(answer.body)) {
      std::string packet = PacketWriter(Code::kFreeHandle).add_handle(object).take();
      const std::scoped_lock lock(guard_);
      frees_.push_back(std::move(packet));
    }
  } catch (const Exception &) {}  // the answer is malformed
}

// ---- requests

uint64_t ClientSession::find(std::string_view name) {
  const Answer answer = ask(
      {.packet = PacketWriter(Code::kGetGlobalFunc).add_text(name).take(), .place = "while a function was looked up"});
  return handle_in(answer.body);
}

Value ClientSession::call(uint64_t function, const std::string &name, Args args, const Patience &patience) {
  PacketWriter packet(Code::kCallFunc, function);
  for (size_t i = 0; i < args.size(); ++i) add_argument(packet, args[i], *this, i, name);
  const Answer answer = ask({.packet = packet.take(),
                             .place = concat("in ", name),
                             .what = "rpc call",
                             .name = name,
                             .patience = patience,
                             .is_call = true});
  return result_in(answer.body, shared_from_this());
}

uint64_t ClientSession::own_function(const char *name) {
  {
    const std::scoped_lock lock(guard_);
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
  }
  // The lock is not held during the request. If two threads request the number at once, one of the two numbers stays
  // until the session ends.
  const uint64_t function = find(name);
  if (!function) fail(OPD_UNSUPPORTED, "the server at ", address_, " has no function ", name);
  const std::scoped_lock lock(guard_);
  return known_[name] = function;
}

Value ClientSession::call(const char *name, Args args) { return call(own_function(name), name, args); }

void ClientSession::upload(std::string_view name, std::string_view content) {
  PacketWriter packet(Code::kCallFunc, own_function("tvm.rpc.server.upload"));
  packet.add_text(name);
  // The content is not copied into the packet, because parameter files may be large.
  packet.add_bytes_that_follow(content.size());
  ask({.packet = packet.take(),
       .rest = content,
       .place = concat("while ", name, " was uploaded"),
       .what = "rpc upload",
       .name = name,
       .is_call = true});
}

Value ClientSession::attr(DLDevice device, opd_device_attr attr) {
  const Answer answer = ask({.packet = PacketWriter(Code::kDevGetAttr).add_device(device).add_int(attr).take(),
                             .place = "while a device was asked"});
  ByteReader body = values_of(answer.body);
  return read_plain(body, read_type(body)).value_or(Value());
}

uint64_t ClientSession::allocate(DLDevice device, size_t bytes) {
  PacketWriter packet(Code::kDevAllocDataWithScope);
  packet.add_tensor({0, device, {kDLUInt, 8, 1}, {static_cast<int64_t>(bytes)}, 0});
  packet.add_plain(opd_none());
  return handle_in(ask({.packet = packet.take(), .place = "while memory was allocated"}).body);
}

// Copies in pieces, so that a cancelled call or a limit ends the copy between two pieces.
void ClientSession::write(const RemoteTensor &to, const void *from, size_t size) {
  for (size_t begin = 0; begin < size; begin += kPiece) {
    const size_t piece = std::min(kPiece, size - begin);
    ask({.packet = copy_request(Code::kCopyToRemote, to, begin, piece),
         .rest = {static_cast<const char *>(from) + begin, piece},
         .place = "during a copy",
         .what = "rpc copy to"});
  }
}

void ClientSession::read(const RemoteTensor &from, void *to, size_t size) {
  for (size_t begin = 0; begin < size; begin += kPiece) {
    const size_t piece = std::min(kPiece, size - begin);
    const Answer answer = ask({.packet = copy_request(Code::kCopyFromRemote, from, begin, piece),
                               .place = "during a copy",
                               .what = "rpc copy from",
                               .into = static_cast<char *>(to) + begin,
                               .size = piece});
    if (answer.code != Code::kCopyAck || !answer.body.empty())
      fail(OPD_BAD_FORMAT, "the server at ", address_, " did not send the ", piece, " requested bytes");
  }
}

void ClientSession::copy(const RemoteTensor &from, const RemoteTensor &to) {
  PacketWriter packet(Code::kCopyAmongRemote);
  packet.add_tensor(from).add_tensor(to).add_handle(0);  // the default stream
  ask({.packet = packet.take(), .place = "during a copy", .what = "rpc copy there"});
}

void ClientSession::sync(DLDevice device) {
  ask({.packet = PacketWriter(Code::kDevStreamSync).add_device(device).add_handle(0).take(),
       .place = "while a device was waited for",
       .what = "rpc sync"});
}

void ClientSession::free_object(uint64_t number) noexcept {
  free_later(Code::kFreeHandle, [&](PacketWriter &packet) { packet.add_handle(number); });
}

void ClientSession::free_data(DLDevice device, uint64_t number) noexcept {
  free_later(Code::kDevFreeData, [&](PacketWriter &packet) { packet.add_device(device).add_handle(number); });
}

}  // namespace opd::rpc
