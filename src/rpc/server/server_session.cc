#include "rpc/server/server_session.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "device/device.h"
#include "rpc/client/client_session.h"
#include "rpc/client/remote_evaluator.h"
#include "rpc/wire/packets.h"
#include "rpc/wire/progress.h"

namespace opd::rpc {
namespace {

constexpr const char *kWhat = "a packet of the client";

DLDevice device_in(const Arguments &args, size_t place) {
  if (args[place].type != OPD_DEVICE) fail(OPD_BAD_FORMAT, kWhat, ": value ", place, " must be a device");
  return args[place].u.device;
}

std::string message_of(const Error &error) { return error.kind + ": " + error.message; }

// The name for a function that a call returned: the requested name, or the caller's name and the requested name.
std::string name_of_result(const std::string &caller, const Arguments &args) {
  std::string_view asked;
  for (size_t i = 0; i < args.size() && asked.empty(); ++i)
    if (is_text(args[i])) asked = as_text(args[i], "a name");
  if (asked.empty()) return caller;
  return caller == "tvm.rpc.server.ModuleGetFunction" ? std::string(asked) : concat(caller, " ", asked);
}

class ServerSession {
 public:
  ServerSession(Frames &frames, std::shared_ptr<WorkFolder> folder, const SessionLimits &limits, CrashReport &crashes,
                const Progress &progress, std::shared_ptr<SessionSpans> spans)
      : frames_(frames),
        folder_(std::move(folder)),
        limits_(limits),
        crashes_(crashes),
        progress_(progress),
        spans_(std::move(spans)) {}
  // ends the client's streams
  ~ServerSession() {
    for (const auto &[number, one] : streams_) try {
        if (current_stream(one.device) == one.stream) set_current_stream(one.device, nullptr);
        end_stream(one.device, one.stream);
      } catch (const std::exception &) {}  // errors of earlier work of the stream
  }

  ServerSession(const ServerSession &) = delete;

  void run(const std::function<Ref<Error>(const Ref<Error> &)> &reason_of) {
    spans_->begin_session();
    note_wire(true);
    try {
      run_requests();
    } catch (const Exception &e) {
      spans_->end_session(e.error()->message.c_str());
      const Ref<Error> reason = reason_of(e.error());
      tell_end(*reason);
      throw Exception(reason);
    }
    note_wire(false);
    spans_->end_session(nullptr);
  }

 private:
  struct Stream {
    DLDevice device;
    void *stream;
  };

  // A message to the client. `rest` has a tensor's bytes, which are sent after the packet without a copy.
  struct Answer {
    std::string packet;
    std::string_view rest = {};
    Ref<Tensor> tensor = nullptr;  // owns the bytes in `rest`
  };

  // Sends the client the reason of the end, if that is possible. A client that is sending a message reads the answer
  // only after it has sent the whole message. So the rest of the message is received first.
  void tell_end(const Error &reason) noexcept try {
    const bool was_amid_frame = is_amid_frame_;
    note_wire(false);  // from here on, no other process sends the reason
    if (frames_.is_damaged()) return frames_.end_with(exception(kDamageAnswer));
    if (was_amid_frame) return;
    const EndAnswer answer = end_answer(concat("the server (", reason.message, ")"), "");
    if (reason.code == OPD_BAD_FORMAT) frames_.end_with(answer.view());
    else if (reason.code == OPD_DEADLINE_EXCEEDED) frames_.write_last(answer.view());
  } catch (const std::bad_alloc &) {}

  void run_requests() {
    while (frames_.wait(limits_.silence)) {
      const uint64_t size = frames_.read_size();
      if (size == 0) continue;
      if (size < sizeof(Code) || size > limits_.message_bytes)
        fail(OPD_BAD_FORMAT, kWhat, " must have ", sizeof(Code), " to ", limits_.message_bytes, " bytes, but has ",
             size);
      progress_.add(&opd_rpc_progress::num_requests, 1);
      progress_.add(&opd_rpc_progress::received_bytes, sizeof size + size);
      if (!answer(size)) return;
    }
  }

  // answers a packet of `size` bytes; false: the client ends the session
  bool answer(uint64_t size) {
    constexpr uint64_t kHead = 1024;  // enough for everything but the bytes of a tensor
    std::string packet(std::min(size, kHead), '\0');
    frames_.read(packet.data(), packet.size());
    ByteReader body(as_bytes(std::string_view(packet)), kWhat);
    const Code code = body.read<Code>("code");
    Answer answer;
    if (code == Code::kCopyToRemote && is_started_) {
      answer.packet = receive_copy(std::string_view(packet).substr(sizeof code), size - packet.size());
    } else {
      frames_.read_rest(packet, size);
      if (code == Code::kShutdown) return false;  // after the checksum: a damaged code may have been another request
      crashes_.enter();
      try {
        ByteReader whole(as_bytes(std::string_view(packet)).subspan(sizeof code), kWhat, sizeof code);
        answer = answer_to(code, whole);
      } catch (...) { answer = {error_answer()}; }
      crashes_.leave();
    }
    const uint64_t answered = answer.packet.size() + answer.rest.size();
    progress_.add(&opd_rpc_progress::sent_bytes, sizeof answered + answered);
    try {
      write(answer);
    } catch (const Exception &e) {
      // An ending client does not wait for the answers to its last frees.
      const bool is_free = code == Code::kFreeHandle || code == Code::kDevFreeData;
      if (!is_free || e.error()->code != OPD_IO) throw;
      return false;
    }
    return true;
  }

  void write(const Answer &answer) {
    note_wire(false);
    frames_.write(answer.packet, answer.rest);
    if (std::exchange(*is_asked_for_checksums_, false)) frames_.begin_checksums();
    note_wire(true);
  }

  // With TLS, other processes cannot write to the client, because only this one has the keys.
  void note_wire(bool is_between_frames) {
    using enum Progress::Wire;
    is_amid_frame_ = !is_between_frames;
    progress_.note_wire(is_amid_frame_ || frames_.is_secure() ? kClosed
                        : frames_.has_checksums()             ? kOpenWithChecksums
                                                              : kOpen);
  }

  Answer answer_to(Code code, ByteReader &body) {
    if (code == Code::kInitServer) return {start(body)};
    if (!is_started_) fail(OPD_FAILED_PRECONDITION, "the client must begin with its version of the protocol");
    if (code == Code::kCallFunc) return {call(body)};
    if (code == Code::kCopyFromRemote) return copy_of(body);
    if (code < Code::kGetGlobalFunc || code > Code::kDevGetCurrentStream)
      fail(OPD_UNSUPPORTED, kWhat, " has the code ", static_cast<int32_t>(code), ", which no request has");
    const Arguments args(body, objects_);
    if (code == Code::kGetGlobalFunc) {
      args.require_size(1, "the request for a global function");
      return {global_function(as_text(args[0], "the name of a function"))};
    }
    if (code == Code::kFreeHandle) {
      args.require_size(1, "the request to free an object");
      const uint64_t number = args.handle(0, "the request to free an object");
      if (allocated_.contains(number)) free_data(number);
      else objects_.remove(number);
      spans_->forget(number);
      return {result_of_request(opd_none())};
    }
    return {device_request(code, args)};
  }

  // called within a catch
  // The error of a failed allocation does not mention the limit, so it is added here.
  std::string error_answer() const {
    const Ref<Error> error = current_error();
    const bool is_limit = error->code == OPD_OUT_OF_MEMORY && limits_.process_bytes;
    if (!is_limit) return exception(message_of(*error));
    return exception(concat(message_of(*error), "; the session may have ", limits_.process_bytes,
                            " bytes of memory beyond what it began with"));
  }

  std::string global_function(std::string_view name) {
    Ref<Function> function = name == kChecksumFunction                              ? checksum_function()
                             : name == kTraceParentFunction && spans_->are_wanted() ? context_function()
                                                                                    : session_function(name, folder_);
    if (!function) return handle_result(0);
    const uint64_t number = objects_.add(Value(std::move(function)));
    const bool is_of_protocol = name.starts_with("opdyno.rpc.") && name != kEvaluator;
    if (spans_->are_wanted() && !is_of_protocol) spans_->set_name(number, name);
    return handle_result(number);
  }

  // The function may outlive the session, so it has no pointer to the session.
  Ref<Function> checksum_function() const {
    return make_function([is_asked = is_asked_for_checksums_](Args) {
      *is_asked = true;
      return Value();
    });
  }

  Ref<Function> context_function() const {
    return make_function([spans = spans_](Args args) {
      require(args.size() == 1, kTraceParentFunction, " takes a text");
      spans->set_client_context(as_text(args[0], "the context"));
      return Value();
    });
  }

  std::string start(ByteReader &body) {
    const std::string_view version = body.read_string("version");
    if (version != kProtocolVersion)
      fail(OPD_UNSUPPORTED, "the client speaks version ", std::string(version.substr(0, 32)), " of the protocol, not ",
           kProtocolVersion);
    const Arguments constructor(body, objects_);
    if (constructor.size())
      fail(OPD_UNSUPPORTED, "the client asks for a session within the session, which is not offered");
    is_started_ = true;
    return result_of_request(opd_none());
  }

  std::string call(ByteReader &body) {
    const auto number = body.read<uint64_t>("number of the function");
    const Value function = objects_.find(number);  // owned here, because the function may free itself
    const Arguments args(body, objects_);
    auto &called = as<Function>(function, "what is called");
    if (const std::string *const name = spans_->name_of(number)) return call_with_span(*name, called, args);
    return result_of_call(opd::call(called, args.for_call()), objects_);
  }

  std::string call_with_span(const std::string &caller, Function &function, const Arguments &args) {
    const std::string name = caller;  // a copy, because the call may free `caller`
    spans_->begin_call(name);
    std::string answer;
    try {
      const Value result = opd::call(function, args.for_call());
      answer = result_of_call(result, objects_);
      if (result.type() == OPD_FUNCTION) spans_->set_name(objects_.last(), name_of_result(name, args));
    } catch (...) {
      spans_->end_call(message_of(*current_error()).c_str());
      throw;
    }
    spans_->end_call(nullptr);
    return answer;
  }

  // If the destination is host memory, the bytes are received directly into it.
  std::string receive_copy(std::string_view head, uint64_t rest) {
    Ref<Tensor> to;
    std::string_view begin;
    try {
      ByteReader body(as_bytes(head), kWhat, sizeof(Code));
      const RemoteTensor described = RemoteTensor::read(body);
      const auto size = body.read<uint64_t>("number of bytes");
      if (size != body.remaining() + rest) body.bad("number of bytes", concat("is ", size, ", but others follow"));
      to = described.in(objects_);
      require_writable(*to, "the memory of a tensor");
      if (size != bytes_of(to->dl))
        fail(OPD_INVALID_ARGUMENT, "the client sends ", size, " bytes for a tensor of ", bytes_of(to->dl));
      begin = as_text(body.take(body.remaining(), "bytes of a tensor"));
    } catch (...) {
      const std::string answer = error_answer();
      skip(rest);
      return answer;
    }
    const bool is_host = to->dl.device.device_type == kDLCPU;
    std::string received(is_host ? 0 : begin.size() + rest, '\0');
    char *const at = is_host ? data_of(to->dl) : received.data();
    if (!begin.empty()) std::memcpy(at, begin.data(), begin.size());
    frames_.read(at + begin.size(), rest);
    frames_.end();
    try {
      if (!is_host) copy_from_bytes(to->dl, received.data(), received.size());
      return result_of_request(opd_none());
    } catch (...) { return error_answer(); }
  }

  Answer copy_of(ByteReader &body) {
    Ref<Tensor> from = RemoteTensor::read(body).in(objects_);
    const auto size = body.read<uint64_t>("number of bytes");
    if (size != bytes_of(from->dl))
      fail(OPD_INVALID_ARGUMENT, "the client asks for ", size, " bytes of a tensor of ", bytes_of(from->dl));
    ByteWriter head;
    head.write(Code::kCopyAck);
    if (from->dl.device.device_type != kDLCPU) {
      Ref<Tensor> copy = make_tensor(dims_of(from->dl), from->dl.dtype, kHost);
      copy_to_bytes(from->dl, data_of(copy->dl), size);
      from = std::move(copy);
    }
    Answer answer{head.take()};
    answer.rest = {data_of(from->dl), size};
    answer.tensor = std::move(from);
    return answer;
  }

  std::string allocate(const RemoteTensor &tensor, std::string_view scope = "") {
    const uint64_t bytes = tensor.bytes();
    if (limits_.memory_bytes && bytes > limits_.memory_bytes - std::min(allocated_bytes_, limits_.memory_bytes))
      fail(OPD_OUT_OF_MEMORY, "a tensor of ", bytes, " bytes is refused: the client has ", allocated_bytes_, " of the ",
           limits_.memory_bytes, " bytes of its session");
    const uint64_t number =
        objects_.add(Value(make_tensor(tensor.dims, tensor.dtype, tensor.device, MemoryUse::kTensor, scope)));
    allocated_[number] = bytes;
    allocated_bytes_ += bytes;
    return handle_result(number);
  }

  void free_data(uint64_t number) {
    const auto found = allocated_.find(number);
    if (found == allocated_.end()) fail(OPD_INVALID_ARGUMENT, "the client has no memory with the number ", number);
    objects_.remove(number);
    allocated_bytes_ -= found->second;
    allocated_.erase(found);
  }

  std::string device_request(Code code, const Arguments &args) {
    constexpr const char *kRequest = "a request to a device";
    const std::string done = result_of_request(opd_none());
    switch (code) {
      case Code::kDevSetDevice:
        args.require_size(1, kRequest);
        set_current_device(device_in(args, 0));
        return done;
      case Code::kDevGetAttr: {  // None: the device lacks the attribute, or does not exist
        args.require_size(2, kRequest);
        const DLDevice device = device_in(args, 0);
        const auto attr = static_cast<opd_device_attr>(as_int(args[1], "the attribute"));
        const bool is_there = attr == OPD_ATTR_EXIST || absence_of(device).empty();
        const Value found = is_there ? device_attr(device, attr) : Value();
        return result_of_request(found.type() == OPD_SHAPE ? Value(to_text(found)) : found);  // a text, like TVM's
      }
      case Code::kDevAllocData: {
        args.require_size(4, kRequest);
        const int64_t bytes = as_int(args[1], "the number of bytes");
        return allocate({0, device_in(args, 0), {kDLUInt, 8, 1}, {bytes}, 0});
      }
      case Code::kDevAllocDataWithScope: {
        args.require_size(2, kRequest);
        const std::string scope = args[1].type == OPD_NONE ? "" : std::string(as_text(args[1], "the scope"));
        const RemoteTensor &wanted = args.description(0, kRequest);
        return allocate(wanted, scope);
      }
      case Code::kDevFreeData:
        args.require_size(2, kRequest);
        free_data(args.handle(1, kRequest));
        return done;
      case Code::kDevStreamSync: {
        args.require_size(2, kRequest);
        const DLDevice device = device_in(args, 0);
        device_backend(device).sync_stream(device.device_id, stream_of(args.handle(1, kRequest), device));
        return done;
      }
      case Code::kCopyAmongRemote:
        args.require_size(3, kRequest);
        copy_tensor(as<Tensor>(args[0], "the source").dl, writable_dltensor(args[1], "the target"));
        return done;
      case Code::kDevCreateStream: {
        args.require_size(1, kRequest);
        const DLDevice device = device_in(args, 0);
        streams_[++last_stream_] = {device, make_stream(device)};
        return handle_result(last_stream_);
      }
      case Code::kDevFreeStream: {
        args.require_size(2, kRequest);
        const uint64_t number = args.handle(1, kRequest);
        end_stream(device_in(args, 0), stream_of(number, device_in(args, 0)));
        streams_.erase(number);
        return done;
      }
      case Code::kDevSetStream:
        args.require_size(2, kRequest);
        set_current_stream(device_in(args, 0), stream_of(args.handle(1, kRequest), device_in(args, 0)));
        return done;
      default: {  // kDevGetCurrentStream
        args.require_size(1, kRequest);
        void *const now = current_stream(device_in(args, 0));
        for (const auto &[number, one] : streams_)
          if (one.stream == now && same(one.device, device_in(args, 0))) return handle_result(number);
        return handle_result(0);
      }
    }
  }

  void *stream_of(uint64_t number, DLDevice device) const {
    if (number == 0) return nullptr;
    const auto found = streams_.find(number);
    if (found == streams_.end() || !same(found->second.device, device))
      fail(OPD_INVALID_ARGUMENT, "the client has no stream of ", device_name(device), " with the number ", number);
    return found->second.stream;
  }

  void skip(uint64_t bytes) {
    std::string piece(std::min<uint64_t>(bytes, 1 << 16), '\0');
    for (uint64_t part; bytes > 0; bytes -= part) {
      part = std::min<uint64_t>(bytes, piece.size());
      frames_.read(piece.data(), part);
    }
    frames_.end();
  }

  Frames &frames_;
  const std::shared_ptr<WorkFolder> folder_;
  const SessionLimits limits_;
  CrashReport &crashes_;
  const Progress progress_;
  const std::shared_ptr<SessionSpans> spans_;
  Objects objects_;
  std::map<uint64_t, uint64_t> allocated_;  // bytes of the client's own tensors, by number
  std::map<uint64_t, Stream> streams_;      // streams that the client made
  uint64_t last_stream_ = 0, allocated_bytes_ = 0;
  bool is_started_ = false, is_amid_frame_ = false;
  const std::shared_ptr<bool> is_asked_for_checksums_ = std::make_shared<bool>(false);
};

}  // namespace

void run_session(Frames &frames, std::shared_ptr<WorkFolder> folder, const SessionLimits &limits, CrashReport &crashes,
                 const Progress &progress, std::shared_ptr<SessionSpans> spans,
                 const std::function<Ref<Error>(const Ref<Error> &)> &reason_of) {
  ServerSession(frames, std::move(folder), limits, crashes, progress, std::move(spans)).run(reason_of);
}

}  // namespace opd::rpc
