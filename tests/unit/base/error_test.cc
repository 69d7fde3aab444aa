// Errors: their codes and kinds, causes, traces, what exceptions become, and errors that foreign code made.
#include "base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <thread>

#include "base/cancellation.h"

namespace opd {
namespace {

TEST(ErrorCodes, HaveTheNamesAndKindsOfTheHeader) {
  struct Case {
    opd_code code;
    const char *name, *kind;
  };
  for (const auto &[code, name, kind] : {Case{OPD_OK, "OPD_OK", "None"},
                                         {OPD_INVALID_ARGUMENT, "OPD_INVALID_ARGUMENT", "ValueError"},
                                         {OPD_NOT_FOUND, "OPD_NOT_FOUND", "LookupError"},
                                         {OPD_ALREADY_EXISTS, "OPD_ALREADY_EXISTS", "ValueError"},
                                         {OPD_OUT_OF_RANGE, "OPD_OUT_OF_RANGE", "IndexError"},
                                         {OPD_BAD_FORMAT, "OPD_BAD_FORMAT", "ValueError"},
                                         {OPD_UNSUPPORTED, "OPD_UNSUPPORTED", "NotImplementedError"},
                                         {OPD_OUT_OF_MEMORY, "OPD_OUT_OF_MEMORY", "MemoryError"},
                                         {OPD_CANCELLED, "OPD_CANCELLED", "InterruptedError"},
                                         {OPD_DEADLINE_EXCEEDED, "OPD_DEADLINE_EXCEEDED", "TimeoutError"},
                                         {OPD_FAILED_PRECONDITION, "OPD_FAILED_PRECONDITION", "RuntimeError"},
                                         {OPD_IO, "OPD_IO", "OSError"},
                                         {OPD_CALL_FAILED, "OPD_CALL_FAILED", "RuntimeError"},
                                         {OPD_INTERNAL, "OPD_INTERNAL", "InternalError"},
                                         {static_cast<opd_code>(14), "OPD_INTERNAL", "InternalError"},
                                         {static_cast<opd_code>(-1), "OPD_INTERNAL", "InternalError"}}) {
    EXPECT_STREQ(code_name(code), name);
    EXPECT_STREQ(usual_kind(code), kind) << name;
  }
}

TEST(Backtraces, HaveTheFramesWhereAnErrorWasMade) {
  if (!std::getenv("OPDYNO_BACKTRACE")) {  // it is read once, so another process has it
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    EXPECT_EQ(std::system(("OPDYNO_BACKTRACE=1 '" + self + "' --gtest_filter=Backtraces.* >/dev/null").c_str()), 0);
    return;
  }
  const std::string frames = make_error(OPD_IO, "a message")->backtrace();
  EXPECT_GT(std::count(frames.begin(), frames.end(), '\n'), 2) << frames;
  EXPECT_NE(frames.find("libc.so.6 __libc_start_main"), std::string::npos)
      << frames << "the function, where one is known";
  // A trace of foreign code follows the frames, or takes their place.
  const auto error = make_error(OPD_IO, "a message");
  const ByteArray more = bytes_of("more\n");
  error->update_backtrace(error.get(), &more, 1);
  EXPECT_NE(error->backtrace().find("libc.so.6"), std::string::npos) << error->backtrace();
  EXPECT_TRUE(error->backtrace().ends_with("\nmore\n")) << error->backtrace();
  const auto other = make_error(OPD_IO, "a message");
  other->update_backtrace(other.get(), &more, 0);
  EXPECT_EQ(other->backtrace(), "more\n");
}

TEST(Errors, HoldCodeKindAndMessage) {
  const auto usual = make_error(OPD_IO, "a message");
  EXPECT_EQ(usual->code, OPD_IO);
  EXPECT_EQ(usual->kind, "OSError");
  EXPECT_EQ(usual->message, "a message");
  EXPECT_EQ(text_of(usual->kind_view), "OSError");
  EXPECT_EQ(text_of(usual->message_view), "a message");
  EXPECT_EQ(text_of(usual->backtrace_view), "");
  EXPECT_EQ(usual->cause, nullptr);
  EXPECT_FALSE(usual->located);
  EXPECT_EQ(make_error(OPD_IO, "", "KeyError")->kind, "KeyError");
  EXPECT_EQ(make_error(OPD_OK, "no success is an error")->code, OPD_INTERNAL);
  EXPECT_EQ(make_error(OPD_OK, "")->kind, "InternalError");
}

TEST(Errors, AreThrownWithTheirPartsAndConditions) {
  const auto thrown = [](auto &&body) {
    try {
      body();
    } catch (const Exception &e) { return concat(code_name(e.error()->code), " ", e.error()->kind, " ", e.what()); }
    return std::string("nothing");
  };
  EXPECT_EQ(thrown([] { fail(OPD_NOT_FOUND, "part ", 1, ' ', 2.5, " ", uint8_t{7}); }),
            "OPD_NOT_FOUND LookupError part 1 2.5 7");
  EXPECT_EQ(thrown([] { fail_as("KeyError", OPD_NOT_FOUND, "part ", -1); }), "OPD_NOT_FOUND KeyError part -1");
  EXPECT_EQ(thrown([] { require(false, "must ", "be"); }), "OPD_INVALID_ARGUMENT ValueError must be");
  EXPECT_EQ(thrown([] { require(true, "must ", "be"); }), "nothing");
}

struct Counted final : Object {
  static int32_t type() { return OPD_OBJECT; }
  static inline int alive = 0;
  Counted() { ++alive; }
  ~Counted() { --alive; }
};

TEST(Errors, HoldTheirCauseAndContextUntilTheyEnd) {
  auto error = make_error(OPD_IO, "outer");
  const auto first = make_error(OPD_IO, "first"), second = make_error(OPD_IO, "second");
  error->set_cause(first);
  EXPECT_EQ(error->cause, first.get());
  error->set_cause(second);
  EXPECT_EQ(error->cause, second.get());
  EXPECT_TRUE(first->has_sole_owner()) << "the one before is released";
  error->extra_context = make_object<Counted>().detach();
  EXPECT_EQ(Counted::alive, 1);
  error = nullptr;
  EXPECT_EQ(Counted::alive, 0);
  EXPECT_TRUE(second->has_sole_owner());
  // A chain that is longer than the stack is deep.
  auto chain = make_error(OPD_IO, "0");
  for (int i = 0; i < 200000; ++i) {
    auto next = make_error(OPD_IO, "n");
    next->set_cause(std::move(chain));
    chain = std::move(next);
  }
}

TEST(Errors, HaveATraceThatIsReplacedOrContinued) {
  const auto error = make_error(OPD_IO, "x");
  const auto update = [&](std::string_view text, int mode) {
    const ByteArray bytes = bytes_of(text);
    error->update_backtrace(error.get(), &bytes, mode);
    EXPECT_EQ(text_of(error->backtrace_view), error->backtrace());
    return error->backtrace();
  };
  EXPECT_EQ(update("one\n", 0), "one\n");
  EXPECT_EQ(update("two\n", 1), "one\ntwo\n");
  EXPECT_EQ(update("three\n", 0), "three\n");
  error->update_backtrace(nullptr, nullptr, 0);  // is nothing
  error->update_backtrace(error.get(), nullptr, 0);
  EXPECT_EQ(error->backtrace(), "three\n");
}

TEST(Errors, AreCopiedFromForeignCodeWithTheirCauses) {
  // A foreign error has the cell's fields only; here one of the library's plays it.
  const auto foreign = make_error(OPD_IO, "message", "KeyError"), cause = make_error(OPD_IO, "cause", "OSError");
  for (Error *error : {foreign.get(), cause.get()}) error->update_backtrace = nullptr;
  const std::string trace = "a trace";
  foreign->backtrace_view = bytes_of(trace);
  foreign->set_cause(cause);
  foreign->extra_context = make_object<Counted>().detach();
  {
    const auto own = as_own(*foreign);
    EXPECT_NE(own.get(), foreign.get());
    EXPECT_EQ(own->code, OPD_CALL_FAILED);
    EXPECT_EQ(own->kind, "KeyError");
    EXPECT_EQ(own->message, "message");
    EXPECT_EQ(own->backtrace(), "a trace");
    ASSERT_NE(own->cause, nullptr);
    EXPECT_NE(own->cause, cause.get());
    EXPECT_EQ(static_cast<Error *>(own->cause)->message, "cause");
    EXPECT_EQ(own->extra_context, foreign->extra_context);
  }
  EXPECT_EQ(Counted::alive, 1) << "the original still has its context";
  // One of the library's stays, but its foreign cause is copied; its own cause stays, too.
  const auto own = make_error(OPD_IO, "own");
  own->set_cause(cause);
  EXPECT_EQ(as_own(*own).get(), own.get());
  EXPECT_NE(own->cause, cause.get());
  EXPECT_EQ(static_cast<Error *>(own->cause)->message, "cause");
  Object *const kept = own->cause;
  EXPECT_EQ(as_own(*own).get(), own.get());
  EXPECT_EQ(own->cause, kept);
}

TEST(Exceptions, BecomeErrors) {
  const auto told = [](auto &&body) {
    try {
      body();
    } catch (...) {
      const auto error = current_error();
      return concat(code_name(error->code), " ", error->kind, " ", error->message);
    }
    return std::string("nothing");
  };
  EXPECT_EQ(told([] { fail(OPD_IO, "x"); }), "OPD_IO OSError x");
  EXPECT_EQ(told([] { throw std::bad_alloc(); }), "OPD_OUT_OF_MEMORY MemoryError out of memory");
  EXPECT_EQ(told([] { throw std::runtime_error("y"); }), "OPD_INTERNAL InternalError y");
  EXPECT_EQ(told([] { throw 3; }), "OPD_INTERNAL InternalError an exception of unknown type");
}

TEST(RaisedErrors, AreLeftForTheCallerOfTheThread) {
  EXPECT_EQ(raising([] {}), 0);
  EXPECT_EQ(raising([] { return 7; }), 7);
  EXPECT_EQ(raising([] { fail(OPD_IO, "first"); }), -1);
  EXPECT_EQ(raising([] { throw std::runtime_error("second"); }), -1);
  std::thread([] {
    EXPECT_EQ(take_raised()->message, "the function failed without saying why") << "of another thread";
  }).join();
  EXPECT_EQ(take_raised()->message, "second");
  const auto none = take_raised();
  EXPECT_EQ(none->code, OPD_CALL_FAILED);
  EXPECT_EQ(none->message, "the function failed without saying why");
}

TEST(Cancellation, StatesTheReasonAndThePlace) {
  const auto cancelled = make_cancel_error(CancelReason::kCancelled, "before f"),
             late = make_cancel_error(CancelReason::kDeadline, "in f");
  EXPECT_EQ(cancelled->code, OPD_CANCELLED);
  EXPECT_EQ(cancelled->message, "the call was cancelled before f");
  EXPECT_EQ(late->code, OPD_DEADLINE_EXCEEDED);
  EXPECT_EQ(late->message, "the deadline passed in f");
  EXPECT_TRUE(ends_call(CancelReason::kCancelled) && ends_call(CancelReason::kDeadline));
  EXPECT_FALSE(ends_call(CancelReason::kNone) || ends_call(CancelReason::kAsked));
}

}  // namespace
}  // namespace opd
