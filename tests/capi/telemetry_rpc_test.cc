// Spans of sessions of opd_rpc_serve(): what a collector gets of them, and what clients may say of whom they work for.
#include <fstream>
#include <map>
#include <mutex>
#include <opdyno/rpc.hpp>
#include <sstream>

#include "support/rpc_servers.h"
#include "support/telemetry_otlp.h"

using namespace opdyno_test;
using namespace opdyno_test::otlp;
using opdyno::RpcSession;
using opdyno::TraceParent;

namespace {

const std::string kOtherTrace = "4bf92f3577b34da6a3ce929d0e0e4736", kOtherCaller = "00f067aa0ba902b7";

// Servers whose spans go to a collector.
class TelemetryRpc : public testing::Test {
 protected:
  TelemetryRpc() : telemetry_(start()) {
    opd_rpc_progress_init(&progress_);
    serving_ = defaults(opd_rpc_serve_options_init);
    serving_.progress = &progress_, serving_.user_data = this;
    serving_.note_span = [](void *self, const opd_telemetry_value *span) {
      static_cast<TelemetryRpc *>(self)->note(*span);
    };
    define("test.rpc.works", [](const opd_value *, int32_t, opd_value *) {});
    define("test.rpc.fails", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no luck"); });
  }

  Telemetry start() {
    url_ = collector_.url();
    opd_telemetry_options options = opdyno::defaults(opd_telemetry_options_init);
    options.interval_ns = 3'600'000'000'000, options.otlp_endpoint = url_.c_str();
    return Telemetry(&options);
  }
  void note(const opd_telemetry_value &span) {
    if (!span.end_ns) {
      const std::scoped_lock lock(guard_);
      begun_.emplace_back(span.traceparent);
    } else {
      telemetry_.set_value(span);
    }
  }
  uint64_t num_bad() {
    return std::atomic_ref(progress_.num_bad_traceparents).load();
  }  // also while a server writes it
  // By name; once the server's thread has ended.
  std::map<std::string, std::vector<SpanRow>> spans() const {
    telemetry_.flush(kLong);
    std::map<std::string, std::vector<SpanRow>> by_name;
    for (const SpanRow &span : spans_in(collector_.requests(kTraces))) by_name[span.name].push_back(span);
    return by_name;
  }
  template <class Use>
  void with_session(const Use &use) {
    const Listener server([&](int connection) { serve_with(connection, &serving_); });
    const RpcSession session = RpcSession::connect(server.address());
    use(session);
    session.close();
  }
  static void call(const RpcSession &session, const char *name) { session.function(name)(); }

  const Receiver collector_;
  std::string url_;
  opd_rpc_progress progress_;
  opd_rpc_serve_options serving_;
  const Telemetry telemetry_;
  std::mutex guard_;
  std::vector<std::string> begun_;  // contexts of spans that began
};

TEST_F(TelemetryRpc, ASessionAndItsCallsAreChildrenOfTheClientsSpan) {
  with_session([](const RpcSession &session) {
    const TraceParent parent(kParent);
    call(session, "test.rpc.works");
    expect_throws([&] { call(session, "test.rpc.fails"); }, OPD_CALL_FAILED);
  });
  auto found = spans();
  ASSERT_EQ(found["rpc session"].size(), 1u);
  ASSERT_EQ(found["test.rpc.works"].size(), 1u);
  ASSERT_EQ(found["test.rpc.fails"].size(), 1u);
  EXPECT_EQ(found.size(), 3u) << "what the client asks by itself has no spans";
  const SpanRow session = found["rpc session"][0];
  EXPECT_EQ(session.trace, kTrace);
  EXPECT_EQ(session.parent, kCaller);
  EXPECT_EQ(session.kind, "session");
  EXPECT_FALSE(session.has_failed);
  for (const char *name : {"test.rpc.works", "test.rpc.fails"}) {
    const SpanRow span = found[name][0];
    EXPECT_EQ(span.trace, kTrace);
    EXPECT_EQ(span.parent, session.id);
    EXPECT_EQ(span.kind, "call");
    EXPECT_GE(span.begin, session.begin);
    EXPECT_LE(span.end, session.end);
  }
  EXPECT_NE(found["test.rpc.works"][0].id, found["test.rpc.fails"][0].id);
  EXPECT_FALSE(found["test.rpc.works"][0].has_failed);
  EXPECT_TRUE(found["test.rpc.fails"][0].has_failed);
  EXPECT_NE(found["test.rpc.fails"][0].error.find("no luck"), std::string::npos);
  ASSERT_EQ(begun_.size(), 4u) << "the session twice, since its client said whom it works for after the begin";
  EXPECT_EQ(begun_[0].substr(36), begun_[1].substr(36)) << "with the same number";
  EXPECT_EQ(begun_[1].substr(3, 32), kTrace);
  EXPECT_EQ(progress_.num_bad_traceparents, 0u);
}

TEST_F(TelemetryRpc, AClientWithoutAContextHasATraceForEachSession) {
  for (int i = 0; i < 2; ++i) with_session([](const RpcSession &session) { call(session, "test.rpc.works"); });
  auto found = spans();
  ASSERT_EQ(found["rpc session"].size(), 2u);
  ASSERT_EQ(found["test.rpc.works"].size(), 2u);
  std::map<std::string, std::string> sessions;  // by trace
  for (const SpanRow &span : found["rpc session"]) {
    EXPECT_EQ(span.parent, "");
    sessions[span.trace] = span.id;
  }
  EXPECT_EQ(sessions.size(), 2u);
  for (const SpanRow &span : found["test.rpc.works"]) EXPECT_EQ(span.parent, sessions[span.trace]);
}

// A session may serve many requests of the client's own clients.
TEST_F(TelemetryRpc, ACallBelongsToTheRequestOfTheThreadThatMakesIt) {
  with_session([](const RpcSession &session) {
    {
      const TraceParent parent(kParent);
      call(session, "test.rpc.works");
    }
    {
      const TraceParent parent("00-" + kOtherTrace + "-" + kOtherCaller + "-01");
      call(session, "test.rpc.works");
    }
    call(session, "test.rpc.works");
  });
  auto found = spans();
  ASSERT_EQ(found["rpc session"].size(), 1u);
  ASSERT_EQ(found["test.rpc.works"].size(), 3u);
  const SpanRow session = found["rpc session"][0];
  EXPECT_EQ(session.trace, kTrace);
  std::vector<std::string> places;
  for (const SpanRow &span : found["test.rpc.works"]) places.push_back(span.trace + " " + span.parent);
  const std::string within = kTrace + " " + session.id;
  EXPECT_EQ(places, (std::vector{within, kOtherTrace + " " + kOtherCaller, within}));
}

TEST_F(TelemetryRpc, TheEnvironmentSetsTheParentOfTheClientsSpans) {
  setenv("TRACEPARENT", kParent.c_str(), 1);
  with_session([](const RpcSession &session) { call(session, "test.rpc.works"); });
  setenv("TRACEPARENT", "00-not-a-context", 1);
  with_session([](const RpcSession &session) { call(session, "test.rpc.works"); });
  unsetenv("TRACEPARENT");
  auto found = spans();
  ASSERT_EQ(found["rpc session"].size(), 2u);
  EXPECT_EQ(found["rpc session"][0].trace, kTrace);
  EXPECT_EQ(found["rpc session"][0].parent, kCaller);
  EXPECT_NE(found["rpc session"][1].trace, kTrace);
  EXPECT_EQ(found["rpc session"][1].parent, "");
  EXPECT_EQ(progress_.num_bad_traceparents, 0u) << "the client does not say it";
}

TEST_F(TelemetryRpc, ATraceThatTheClientDoesNotKeepHasNoSpans) {
  with_session([](const RpcSession &session) {
    const TraceParent parent("00-" + kTrace + "-" + kCaller + "-00");
    call(session, "test.rpc.works");
  });
  EXPECT_TRUE(spans().empty());
  EXPECT_EQ(telemetry_.stats().spans_dropped_count, 0u);
}

TEST_F(TelemetryRpc, MalformedContextsAreCountedAndIgnored) {
  {
    RawSession client(serving_);
    client.begin();
    const uint64_t say = client.function("opdyno.rpc.traceparent");
    ASSERT_NE(say, 0u);
    const auto said = [&](const std::string &text) {
      EXPECT_EQ(client.call(say, 1, Packet().string(text)).type(), OPD_NONE);
    };
    said(kParent);
    const std::string bad[] = {"x",
                               kParent + "-",
                               kParent.substr(0, 54),
                               "ff" + kParent.substr(2),
                               "00-" + std::string(32, '0') + "-" + kCaller + "-01",
                               "00-" + kTrace + "-" + std::string(16, '0') + "-01",
                               "00-" + kTrace + "-" + kCaller + "-0G",
                               std::string(55, '\0'),
                               std::string(1 << 20, 'a')};
    for (const std::string &text : bad) said(text);
    EXPECT_EQ(num_bad(), std::size(bad));
    const uint64_t works = client.function("test.rpc.works");
    EXPECT_EQ(client.call(works).type(), OPD_NONE) << "the session goes on";
    said("");
    EXPECT_EQ(num_bad(), std::size(bad)) << "no context is none that is bad";
    EXPECT_EQ(client.call(say, 1, Packet().integer(1)).code, kException);
    EXPECT_EQ(client.call(say).code, kException);
  }
  auto found = spans();
  ASSERT_EQ(found["rpc session"].size(), 1u);
  EXPECT_EQ(found["rpc session"][0].trace, kTrace) << "a good one was said before";
  ASSERT_EQ(found["test.rpc.works"].size(), 1u);
  EXPECT_EQ(found["test.rpc.works"][0].parent, found["rpc session"][0].id);
}

TEST_F(TelemetryRpc, FunctionsOfModulesHaveTheNamesByWhichTheyWereAskedFor) {
  {
    RawSession client(serving_);
    client.begin();
    const std::string file = testing::TempDir() + "/telemetry_rpc.vmexec";
    Executable::assemble(".func main(x) {\n  ret %x\n}\n").to_module().save(file);
    std::stringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    client.call("tvm.rpc.server.upload", 2, Packet().string("p.vmexec").bytes(bytes.str()));
    const uint64_t module =
        client.call("tvm.rpc.server.load_module", 1, Packet().string("p.vmexec")).object(OPD_MODULE);
    const uint64_t get = client.function("tvm.rpc.server.ModuleGetFunction");
    const Packet wanted =
        Packet().object(OPD_MODULE, module).string("vm_load_executable").raw<int32_t>(OPD_BOOL).raw<int64_t>(0);
    const uint64_t load = client.call(get, 3, wanted).object(OPD_FUNCTION);
    client.call(load).object(OPD_MODULE);
    client.ask(kFreeHandle, Packet().raw<int32_t>(1).handle(load)).expect_done();
  }
  auto found = spans();
  for (const char *name : {"tvm.rpc.server.upload", "tvm.rpc.server.load_module", "tvm.rpc.server.ModuleGetFunction",
                           "vm_load_executable"})
    EXPECT_EQ(found[name].size(), 1u) << name;
  EXPECT_EQ(found.size(), 5u);
}

TEST_F(TelemetryRpc, TheEndOfABrokenSessionIsItsError) {
  {
    RawSession client(serving_);
    client.begin();
    client.send(Packet().raw(UINT64_MAX).str());
    opd_error_release(client.end());
  }
  auto found = spans();
  ASSERT_EQ(found["rpc session"].size(), 1u);
  EXPECT_TRUE(found["rpc session"][0].has_failed);
  EXPECT_NE(found["rpc session"][0].error.find("but has 18446744073709551615"), std::string::npos)
      << found["rpc session"][0].error;
}

TEST_F(TelemetryRpc, AServerWithoutSpansDoesNotAskForContexts) {
  serving_.note_span = nullptr;
  RawSession client(serving_);
  client.begin();
  EXPECT_EQ(client.function("opdyno.rpc.traceparent"), 0u);
  with_session([](const RpcSession &session) {
    const TraceParent parent(kParent);
    call(session, "test.rpc.works");
    call(session, "test.rpc.works");
  });
  EXPECT_TRUE(spans().empty());
}

}  // namespace
