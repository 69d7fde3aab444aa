// The server that Prometheus asks for metrics.
#include <sys/wait.h>

#include "support/sanitizers.h"
#include "support/telemetry_text.h"

using namespace opdyno_test;

namespace {

class TelemetryServer : public testing::Test {
 protected:
  TelemetryServer() {
    Options options;
    options.prometheus_address = "127.0.0.1:0";
    telemetry_ = Telemetry(&options);
    address_ = telemetry_.address();
  }
  Telemetry telemetry_{static_cast<opd_telemetry *>(nullptr)};
  std::string address_;
};

TEST_F(TelemetryServer, AnswersInBothForms) {
  const Vm vm = make_program();
  call(vm, "main", 2);
  const std::string text = get(address_);
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n")) << text;
  EXPECT_NE(text.find("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), std::string::npos);
  EXPECT_EQ(sample(text, "opdyno_calls_total" + kMain), 2);
  const std::string body = text.substr(text.find("\r\n\r\n") + 4);
  EXPECT_NE(text.find("\r\nContent-Length: " + std::to_string(body.size()) + "\r\n"), std::string::npos);
  const std::string open = get(address_, "ACCEPT: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n");
  EXPECT_NE(open.find("\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"),
            std::string::npos);
  EXPECT_TRUE(open.ends_with("# EOF\n"));
  EXPECT_NE(open.find(",le=\"1.0\"} "), std::string::npos);
  EXPECT_NE(text.find(",le=\"1\"} "), std::string::npos);
  EXPECT_EQ(telemetry_.stats().scrape_count, 2u);
}

TEST_F(TelemetryServer, RefusesRequestsOtherThanScrapes) {
  const auto starts = [&](const std::string &request, const std::string &expected) {
    const std::string answer = ask(address_, request);
    EXPECT_TRUE(answer.starts_with(expected)) << request.substr(0, 80) << "\n" << answer;
    return answer;
  };
  starts("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ");
  starts("GET /metrics/ HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ");
  starts("GET /metrics?a=b HTTP/1.0\r\n\r\n", "HTTP/1.1 200 ");
  const std::string refused = starts("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405 ");
  EXPECT_NE(refused.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos);
  starts("hello\r\n\r\n", "HTTP/1.1 400 ");
  starts("GET /metrics\r\n\r\n", "HTTP/1.1 400 ");
  starts("GET /metrics SSH-2.0\r\n\r\n", "HTTP/1.1 400 ");
  starts(std::string("\0\xFF\x80", 3) + "\r\n\r\n", "HTTP/1.1 400 ");
  starts("GET /metrics HTTP/1.1\r\nA: " + std::string(20'000, 'a'), "HTTP/1.1 431 ");
  const std::string head = starts("HEAD /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ");
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << "no body";
  EXPECT_EQ(head.find("Content-Length: 0\r\n"), std::string::npos);
}

std::string refusal(const std::string &status, const std::string &body, const std::string &more = "") {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nCache-Control: no-store\r\nConnection: close\r\n" + more + "\r\n" + body;
}

TEST_F(TelemetryServer, SaysWhyItRefuses) {
  const auto answer = [&](const std::string &request) { return ask(address_, request + "\r\n\r\n"); };
  EXPECT_EQ(answer("GET /metric HTTP/1.1"),
            refusal("404 Not Found", "There is nothing here. Metrics are at /metrics.\n"));
  EXPECT_EQ(answer("PUT /metrics HTTP/1.1"),
            refusal("405 Method Not Allowed", "Only GET and HEAD are answered.\n", "Allow: GET, HEAD\r\n"));
  for (const char *line : {"GET /metrics", "GET", "GET /metrics HTTP/2"})
    EXPECT_EQ(answer(line), refusal("400 Bad Request", "This is not a request of HTTP/1.1.\n")) << line;
  const auto of_size = [](size_t size) {
    const std::string begin = "GET /metrics HTTP/1.1\r\nA: ";
    return begin + std::string(size - begin.size(), 'a');
  };
  EXPECT_TRUE(answer(of_size(8192)).starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(answer(of_size(8193)), refusal("431 Request Header Fields Too Large", "The request is too long.\n"));
}

// A connection that is closed with unread bytes is reset, and its client could lose the answer.
TEST_F(TelemetryServer, ReadsOnAfterItsAnswer) {
  for (int turn = 0; turn < 10; ++turn) {
    const Connection client(address_);
    client.send("PUT /metrics HTTP/1.1\r\n\r\n" + std::string(100'000, 'x'));
    EXPECT_TRUE(client.receive().starts_with("HTTP/1.1 405 "));
    bool takes = true;
    for (int i = 0; takes && i < 50; ++i) {
      takes = client.takes('x');
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (takes) return;  // else the machine may have been busy: the server reads for a second only
  }
  ADD_FAILURE() << "each connection was reset";
}

TEST_F(TelemetryServer, SendsALongAnswerToASlowClient) {
  const std::string value(1 << 20, 'v');
  const char *const names[] = {"number", "text"};
  opd_telemetry_value own = opdyno::defaults(opd_telemetry_value_init);
  own.name = "long", own.label_names = names, own.num_label_names = 2;
  std::string expected;
  for (int i = 0; i < rounds(12); ++i) {  // more than a socket takes at once
    const std::string number = std::to_string(i);
    const char *const values[] = {number.c_str(), value.c_str()};
    own.label_values = values, own.value = i;
    telemetry_.set_value(own);
    expected += "long{number=\"" + number + "\",text=\"" + value + "\"} " + number + "\n";
  }
  const Connection slow(address_);
  slow.send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(get(address_).ends_with(expected)) << "another client, meanwhile";
  const std::string answer = slow.receive();
  EXPECT_TRUE(answer.ends_with(expected));
  const size_t head = answer.find("\r\n\r\n");
  EXPECT_NE(answer.find("\r\nContent-Length: " + std::to_string(answer.size() - head - 4) + "\r\n"), std::string::npos)
      << answer.substr(0, head);
}

TEST_F(TelemetryServer, ClosesTheOldestConnectionForANewOneBeyond32) {
  std::vector<std::unique_ptr<Connection>> clients;
  for (int i = 0; i < 33; ++i) clients.push_back(std::make_unique<Connection>(address_));
  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  EXPECT_TRUE(clients.back()->send(request).receive().starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(clients[0]->receive(), "");
  EXPECT_TRUE(clients[1]->send(request).receive().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST(TelemetryAddress, MayBeLocalhost) {
  Options options;
  options.prometheus_address = "localhost:0";
  const Telemetry telemetry(&options);
  const std::string address = telemetry.address();
  EXPECT_TRUE(address.starts_with("127.0.0.1:")) << address;
  EXPECT_FALSE(address.ends_with(":0")) << address;
  EXPECT_TRUE(get(address).starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(TelemetryServer, AnswersWhileOthersConnectAndSayNothing) {
  std::vector<std::unique_ptr<Connection>> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<Connection>(address_));
  silent.front()->send("GET /met");
  EXPECT_TRUE(get(address_).starts_with("HTTP/1.1 200 OK\r\n"));
  for (int i = 0; i < 10; ++i) Connection(address_).send("GET /metrics HTTP/1.1\r\n\r\n");  // and go at once
  EXPECT_TRUE(get(address_).starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(TelemetryServer, TakesARequestInPieces) {
  const Connection slow(address_);
  for (const char c : std::string("GET /metrics HTTP/1.1\r\n\r\n")) {
    slow.send(std::string(1, c));
    if (c == 'G') { EXPECT_TRUE(get(address_).starts_with("HTTP/1.1 200 OK\r\n")); }
  }
  EXPECT_TRUE(slow.receive().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(TelemetryServer, FreesItsAddressWhenItEnds) {
  const std::string address = address_;
  Options same;
  same.prometheus_address = address.c_str();
  opd_telemetry *none = nullptr;
  expect_error(opd_telemetry_start(&same, &none), OPD_IO, "cannot listen at " + address + ": Address already in use");
  const Connection idle(address);
  telemetry_ = Telemetry(static_cast<opd_telemetry *>(nullptr));
  const Telemetry next(&same);
  EXPECT_EQ(next.address(), address);
  EXPECT_TRUE(get(address).starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(TelemetryServer, IsTheParentsAfterAFork) {
  if (has_sanitizer()) GTEST_SKIP() << "a sanitizer's locks and threads do not outlive a fork() amid other threads";
  const Vm vm = make_program();
  std::atomic<bool> ends{false};
  std::thread busy([&] {
    while (!ends) call(vm, "main");
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      call(vm, "main", 10);
      opd_buffer *text = nullptr;
      opd_error *const error = opd_telemetry_to_text(telemetry_.get(), OPD_TELEMETRY_PROMETHEUS, &text);
      const bool is_refused = opd_error_code(error) == OPD_FAILED_PRECONDITION &&
                              opd_error_code(opd_telemetry_flush(telemetry_.get(), 1)) == OPD_FAILED_PRECONDITION;
      Options options;
      options.prometheus_address = "127.0.0.1:0";
      const Telemetry own(&options);
      call(vm, "main", 3);
      const bool counts = sample(get(own.address()), "opdyno_calls_total" + kMain) == 3;
      telemetry_ = Telemetry(static_cast<opd_telemetry *>(nullptr));
      _exit(is_refused && counts ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ends = true;
  busy.join();
  const Connection open(address_);
  open.send("GET /met");  // the server waits 5 s for the rest, so the child does nothing
  const pid_t brief = fork();
  if (brief == 0) _exit(0);
  ASSERT_EQ(waitpid(brief, nullptr, 0), brief);
  open.send("rics HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(open.receive().starts_with("HTTP/1.1 200 OK\r\n")) << "the child has not closed it";
  int began[2], lives[2];
  ASSERT_EQ(pipe(began), 0);
  ASSERT_EQ(pipe(lives), 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    close(lives[1]);
    if (write(began[1], &byte, 1) != 1) _exit(2);
    _exit(read(lives[0], &byte, 1) == 0 ? 0 : 1);  // once the parent closes it
  }
  ASSERT_EQ(read(began[0], &byte, 1), 1);  // a child closes what is its parent's before fork() returns in it
  close(began[0]), close(began[1]);
  telemetry_ = Telemetry(static_cast<opd_telemetry *>(nullptr));
  EXPECT_FALSE(Connection(address_).is_open) << "a child does not keep it open";
  close(lives[0]), close(lives[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
