// Profiles of programs on another machine. The server makes them with its collectors; the client converts their times
// to its own clock.
#include <filesystem>

#include "base/build_directory.h"
#include "base/file.h"
#include "rpc/client/remote_vm.h"
#include "rpc/wire/remote_profile_options.h"
#include "trace/file/event_file_reader.h"
#include "trace/model/merge.h"

namespace opd::rpc {
namespace {

// The server's Unix time minus this machine's. The time is requested several times. For the shortest round trip, the
// server's clock is assumed to have been read in the middle, so the error is at most half of the round trip.
struct ClockOffset {
  int64_t ns = 0, error_ns = INT64_MAX;
};
ClockOffset clock_offset(ClientSession &session) {
  constexpr int kQuestions = 15;
  ClockOffset best;
  for (int i = 0; i < kQuestions; ++i) {
    const int64_t before = unix_ns();
    const int64_t there = as_int(session.call(kClockFunction, {}), "the time of the server");
    const int64_t after = unix_ns(), error = (after - before) / 2 + 1;
    if (error < best.error_ns) best = {there - (before + after) / 2, error};
  }
  return best;
}

Ref<Trace> read_trace(std::string_view bytes) {
  const BuildDirectory directory(std::filesystem::temp_directory_path().string());
  const std::string file = directory.file("trace");
  write_scratch_file(file, bytes);
  return read_event_file(file);
}

// Converts the server's trace to this machine's clock. The server's address becomes the label of its process.
Ref<Trace> on_this_clock(ClientSession &session, const Trace &trace) {
  TraceMergeOptions how;
  how.labels = {session.address()};
  const std::string &clock = trace.parts.processes[0].clock_name;
  if (clock.empty() || clock != TraceProcess::of_this().clock_name) {  // else both have the same clock
    const ClockOffset offset = clock_offset(session);
    how.shifts_ns = {-offset.ns};
    how.clock_errors_ns = {offset.error_ns};
  }
  const Trace *const traces[] = {&trace};
  return merge_traces(traces, how);
}

VmProfile profile_in(const Value &found, ClientSession &session, bool wants_trace) {
  ByteReader bytes(as_bytes(bytes_in(found, "a profile")), "a profile of the server");
  VmProfile profile;
  profile.report = Report::from_json(bytes.read_string("report"));
  if (wants_trace) profile.trace = on_this_clock(session, *read_trace(as_text(bytes.take(bytes.remaining(), "trace"))));
  return profile;
}

}  // namespace

ClientSession &RemoteVm::profiling_server() const {
  ClientSession &session = *vm_->session;
  if (session.version().empty())
    fail(OPD_UNSUPPORTED, "the server at ", session.address(), " is TVM's, which makes no profiles; opdyno serve does");
  return session;
}

VmProfile RemoteVm::profile_named(std::string_view name, Args args, const CallSettings &settings,
                                  const VmProfileOptions &options, bool wants_trace) const {
  ClientSession &session = profiling_server();
  const Value written(write_profile_options({std::string(name), options, wants_trace}));
  return profile_in(call_with(kProfileFunction, {written.view()}, name, args, settings), session, wants_trace);
}

void RemoteVm::start_profile(const VmProfileOptions &options) const {
  profiling_server();
  const Value written(write_profile_options({"", options, true}));
  call_with(kProfileStart, {written.view()}, "", {}, {});
}

VmProfile RemoteVm::stop_profile(bool wants_trace) const {
  ClientSession &session = profiling_server();
  return profile_in(call_with(kProfileStop, {opd_int(wants_trace)}, "", {}, {}), session, wants_trace);
}

}  // namespace opd::rpc
