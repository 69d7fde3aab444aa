// Telemetry that the environment of a program asks for, and what the environment says of the trace that it belongs to.
#include <sys/wait.h>

#include "support/telemetry_otlp.h"

using namespace opdyno_test;
using namespace opdyno_test::otlp;

namespace {

TEST(TraceParents, AreReadAsTheRecommendationSays) {
  for (const std::string &good :
       {kParent, "01-" + kTrace + "-" + kCaller + "-01-more", "fe-" + kTrace + "-" + kCaller + "-ff"})
    check(opd_telemetry_set_parent(good.c_str()));
  for (const std::string &bad :
       {std::string(), "00-" + kTrace + "-" + kCaller, kParent + "-more", kParent + "x",
        "ff-" + kTrace + "-" + kCaller + "-01", "00-" + std::string(32, '0') + "-" + kCaller + "-01",
        "00-" + kTrace + "-" + std::string(16, '0') + "-01", "0g-" + kTrace + "-" + kCaller + "-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" + kCaller + "-01", " " + kParent, "00_" + kTrace + "-" + kCaller + "-01",
        "01-" + kTrace + "-" + kCaller + "-01more"})
    expect_error(opd_telemetry_set_parent(bad.c_str()), OPD_INVALID_ARGUMENT, "traceparent");
  check(opd_telemetry_set_parent(nullptr));
}

// Another program of this test's own, whose environment is what a test says.
class TelemetryEnvironment : public testing::Test {
 protected:
  // What a child does after its library was loaded with the environment; returns what it exits with.
  static int run(const std::string &filter, const std::vector<std::pair<const char *, std::string>> &environment) {
    const pid_t child = fork();
    if (child == 0) {
      for (const auto &[name, value] : environment) setenv(name, value.c_str(), 1);
      setenv("OPDYNO_TEST_CHILD", "1", 1);
      const std::string argument = "--gtest_filter=" + filter;
      execl("/proc/self/exe", "child", argument.c_str(), "--gtest_also_run_disabled_tests", nullptr);
      _exit(127);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST(TelemetryChild, DISABLED_CallsAndExits) {
  make_program(nullptr).call("main", floats({1, 2, 3, 4}));
  exit(0);  // sends what there is
}

TEST_F(TelemetryEnvironment, TurnsItOnForAnUnchangedProgram) {
  const Receiver collector;
  ASSERT_EQ(run("TelemetryChild.DISABLED_CallsAndExits", {{"OPDYNO_TELEMETRY", "otlp=" + collector.url()},
                                                          {"OTEL_SERVICE_NAME", "by name"},
                                                          {"OTEL_RESOURCE_ATTRIBUTES", "a=b,service.name=no"},
                                                          {"OTEL_EXPORTER_OTLP_HEADERS", "key=1"}}),
            0);
  const auto requests = collector.requests(kTraces);
  ASSERT_EQ(spans_in(requests).size(), 1u);
  EXPECT_NE(requests[0].head.find("\r\nkey: 1\r\n"), std::string::npos);
  const Json attributes = Json(requests[0].body)["resourceSpans"][0]["resource"]["attributes"];
  EXPECT_EQ(attributes.attribute("service.name"), "by name");
  EXPECT_EQ(attributes.attribute("a"), "b");
}

TEST_F(TelemetryEnvironment, FillsMissingSettingsOnlyIfTelemetryIsOn) {
  const Receiver collector;
  const std::string endpoint = collector.url() + "/";
  const char *const test = "TelemetryChild.DISABLED_CallsAndExits";
  ASSERT_EQ(run(test, {{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}}), 0);
  EXPECT_TRUE(collector.requests(kTraces).empty());
  ASSERT_EQ(run(test, {{"OPDYNO_TELEMETRY", "interval=5"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}}), 0);
  EXPECT_EQ(spans_in(collector.requests(kTraces)).size(), 1u);
  ASSERT_EQ(run(test, {{"OPDYNO_TELEMETRY", "per_operator=1"},
                       {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                       {"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}}),
            0);
  EXPECT_EQ(spans_in(collector.requests(kTraces)).size(), 1u) << "gRPC is something else";
}

TEST(TelemetryChild, DISABLED_HasAWarning) {
  const LogMessages log;
  exit(log.text().find("OPDYNO_TELEMETRY: ") == 0 ? 0 : 1);
}

TEST_F(TelemetryEnvironment, WarnsOfABadValue) {
  for (const char *text : {"nonsense", "color=red", "interval=x", "per_operator=2", "prometheus=nowhere:1",
                           "otlp=https://a", "prometheus=192.0.2.1:0"})
    EXPECT_EQ(run("TelemetryChild.DISABLED_HasAWarning", {{"OPDYNO_TELEMETRY", text}}), 0) << text;
}

}  // namespace
