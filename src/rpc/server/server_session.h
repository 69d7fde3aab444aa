// Server side of a session: the client's objects and files, and the answers to its requests, one by one.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "rpc/server/crash_report.h"
#include "rpc/server/session_spans.h"
#include "rpc/server/work_folder.h"
#include "rpc/wire/frames.h"
#include "rpc/wire/objects.h"
#include "rpc/wire/packets.h"
#include "rpc/wire/progress.h"
#include "value/function.h"

namespace opd::rpc {

struct SessionLimits {
  uint64_t message_bytes = uint64_t{2} << 30;  // of one packet
  uint64_t file_bytes = uint64_t{2} << 30;     // all files together
  uint64_t memory_bytes = 0;                   // tensors that the client makes; 0: no limit
  uint64_t process_bytes = 0;                  // private memory beyond that at the start; 0: no limit
  Socket::Time silence{0};                     // most time between two requests; 0: no limit
};

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
  ~ServerSession();  // ends the client's streams
  ServerSession(const ServerSession &) = delete;

  // Returns once the client ends the session or closes the connection between two packets. Throws if the connection
  // breaks. Errors of requests go to the client.
  void run();
  // Sends the client the reason after run() has thrown, if that is possible.
  void tell_end(const Error &reason) noexcept;

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

  void run_requests();
  bool answer(uint64_t size);  // answers a packet of `size` bytes; false: the client ends the session
  void write(const Answer &answer);
  void note_wire(bool is_between_frames);
  Answer answer_to(Code code, ByteReader &body);
  std::string error_answer() const;  // called within a catch
  std::string global_function(std::string_view name);
  Ref<Function> checksum_function() const;
  Ref<Function> context_function() const;
  std::string start(ByteReader &body);
  std::string call(ByteReader &body);
  std::string call_with_span(const std::string &name, Function &function, const Arguments &args);
  std::string receive_copy(std::string_view head, uint64_t rest);
  Answer copy_of(ByteReader &body);
  std::string allocate(const RemoteTensor &tensor, std::string_view scope = "");
  void free_data(uint64_t number);
  std::string device_request(Code code, const Arguments &args);
  void *stream_of(uint64_t number, DLDevice device) const;
  void skip(uint64_t bytes);

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

}  // namespace opd::rpc
