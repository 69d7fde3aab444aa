// Requests to a call, which bindings make when a signal came: the call asks on its own thread whether it goes on.
#include <future>
#include <thread>

#include "support/tensors.h"

using namespace opdyno_test;

// As in src/capi/requests.h, which is for bindings.
extern "C" void opd_private_token_set_answer(opd_cancel_token *token, opd_error *(*answer)(void));
extern "C" void opd_private_token_request(opd_cancel_token *token);

namespace {

int asked = 0, operators = 0;
bool ends = false;
std::thread::id asked_on;

opd_error *answer() {
  ++asked;
  asked_on = std::this_thread::get_id();
  return ends ? opd_error_create(OPD_CALL_FAILED, "KeyboardInterrupt", "stop") : nullptr;
}

class Requests : public testing::Test {
 protected:
  Requests()
      : vm_([] {
          define("test.requests.operator", [](const opd_value *, int32_t, opd_value *) { ++operators; });
          return Vm(Executable::assemble(".func main(x) {\n  call test.requests.operator(%x)\n"
                                         "  call test.requests.operator(%x)\n  ret %x\n}")
                        .to_module());
        }()) {
    asked = operators = 0, ends = false;
    check(opd_cancel_token_create(token_.out()));
    opd_private_token_set_answer(token_.get(), answer);
    opd_call_options_init(&options_);
    options_.cancel = token_.get();
  }
  opd_error *call() {
    const opd_value argument = opd_int(1);
    Value result;
    return opd_vm_call(vm_.get(), "main", &argument, 1, &options_, result.out());
  }
  const Vm vm_;
  Handle<opd_cancel_token> token_;
  opd_call_options options_;
};

TEST_F(Requests, AreAnsweredOnceOnTheThreadOfTheCalls) {
  check(call());
  EXPECT_EQ(asked, 0) << "nobody requested anything";
  opd_private_token_request(token_.get());
  check(call());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(asked_on, std::this_thread::get_id());
  EXPECT_EQ(operators, 4) << "the call went on";
  check(call());
  EXPECT_EQ(asked, 1);
}

TEST_F(Requests, EndTheCallIfTheAnswerIsAnError) {
  ends = true;
  opd_private_token_request(token_.get());
  const Error error(call());
  EXPECT_EQ(std::string(opd_error_kind(error.get())), "KeyboardInterrupt");
  EXPECT_EQ(error.message().find("stop"), 0u) << error.message();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(operators, 0) << "before the next operator";
  ends = false;
  check(call());
  EXPECT_EQ(operators, 2) << "the token serves further calls";
}

TEST_F(Requests, ToTheTokenOfAThreadEndCallsWithATokenOfTheirOwn) {
  Handle<opd_cancel_token> own;
  check(opd_cancel_token_create(own.out()));
  options_.cancel = own.get();
  check(opd_cancel_token_set_default(token_.get()));
  opd_private_token_request(token_.get());
  check(call());
  EXPECT_EQ(asked, 1);
  ends = true;
  opd_private_token_request(token_.get());
  const Error error(call());
  check(opd_cancel_token_set_default(nullptr));
  EXPECT_EQ(std::string(opd_error_kind(error.get())), "KeyboardInterrupt");
  EXPECT_EQ(asked, 2);
}

TEST_F(Requests, WaitForTheThreadThatMayAnswer) {
  opd_private_token_request(token_.get());
  std::thread([&] { check(call()); }).join();
  EXPECT_EQ(asked, 0) << "on another thread the call goes on";
  EXPECT_EQ(operators, 2);
  check(call());
  EXPECT_EQ(asked, 1);
}

// A loop that calls nothing has no operator. Its run is the token's first, and must not hide the operator of another
// run.
TEST(CurrentOperator, IsFoundInEachRunWithTheToken) {
  std::promise<void> entered, leave;
  define("test.requests.wait", [&](const opd_value *, int32_t, opd_value *) {
    entered.set_value();
    leave.get_future().wait();
  });
  const Vm vm(Executable::assemble(".func loop() {\nagain:\n  goto again\n}\n"
                                   ".func wait() {\n  call test.requests.wait()\n  ret %void\n}")
                  .to_module());
  Handle<opd_cancel_token> token;
  check(opd_cancel_token_create(token.out()));
  opd_call_options options;
  opd_call_options_init(&options);
  options.cancel = token.get();
  const auto current = [&] {
    const char *name = opd_cancel_token_current_operator(token.get());
    return std::string(name ? name : "none");
  };
  static std::function<void()> in_the_loop;
  in_the_loop = [&] {
    EXPECT_EQ(current(), "none");
    std::thread other([&] { check(opd_vm_call(vm.get(), "wait", nullptr, 0, &options, nullptr)); });
    entered.get_future().wait();
    EXPECT_EQ(current(), "test.requests.wait");
    leave.set_value();
    other.join();
    EXPECT_EQ(current(), "none") << "the other run has ended";
  };
  opd_private_token_set_answer(token.get(), [] {
    in_the_loop();
    return opd_error_create(OPD_CALL_FAILED, "KeyboardInterrupt", "stop");
  });
  opd_private_token_request(token.get());
  expect_error(opd_vm_call(vm.get(), "loop", nullptr, 0, &options, nullptr), OPD_CALL_FAILED, "stop");
  EXPECT_EQ(current(), "none");
  EXPECT_EQ(opd_cancel_token_current_operator(nullptr), nullptr);
  in_the_loop = nullptr;
}

}  // namespace
