// Captures block by block: what each part keeps, and what is refused of bytes whose checksums are right.
#include "replay/captured_call.h"

#include <gtest/gtest.h>

#include "support/plain_program.h"

using namespace opd;
using opdyno_test::file_of;
using opdyno_test::program;

namespace {

using Blocks = std::vector<std::pair<BlockKind, std::string>>;

KeptCall call_of(uint64_t num_args) {
  KeptCall call;
  call.function = "main";
  call.num_args = num_args;
  return call;
}
std::string value(int64_t number) { return ValueWriter(Keeping::kArguments).write(opd_int(number)); }
std::string end_of(int64_t number) { return write_end(nullptr, opd_int(number), true); }

Blocks whole() {
  return {{BlockKind::kAbout, CapturedProcess::of_this(false).write()},
          {BlockKind::kModule, write_program_module(program(), {})},
          {BlockKind::kCall, call_of(1).write()},
          {BlockKind::kValue, value(7)},
          {BlockKind::kReady, ""},
          {BlockKind::kEnd, end_of(7)}};
}

template <class Action>
std::string read_error(const Action &action) {
  try {
    action();
  } catch (const Exception &e) {
    return (e.error()->code == OPD_BAD_FORMAT ? "" : std::to_string(e.error()->code) + " ") + e.what();
  }
  return "";
}
std::string read_error(const std::string &file) {
  return read_error([&] { CapturedCall::read(file, "c.opdrec"); });
}
std::string read_error(const Blocks &blocks) { return read_error(file_of(blocks)); }

// `whole()` with another content of the block at this place.
Blocks with(size_t place, const std::string &content) {
  Blocks blocks = whole();
  blocks[place].second = content;
  return blocks;
}
Blocks without(size_t place) {
  Blocks blocks = whole();
  blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(place));
  return blocks;
}
Blocks with_more(size_t place, BlockKind kind, const std::string &content) {
  Blocks blocks = whole();
  blocks.insert(blocks.begin() + static_cast<ptrdiff_t>(place), {kind, content});
  return blocks;
}

void expect_part(const std::string &message, const std::string &part) {
  EXPECT_NE(message.find(part), std::string::npos) << "\"" << part << "\" is not in: " << message;
}

}  // namespace

TEST(ACapture, NeedsEachPartOfTheCallInItsOrder) {
  EXPECT_EQ(read_error(whole()), "");
  EXPECT_EQ(read_error(without(5)), "") << "a call that did not end";
  const std::string lacks = "c.opdrec lacks a part of the call: the process, a module, the function or an argument";
  for (const size_t place : {0, 1, 2, 3}) EXPECT_EQ(read_error(without(place)), lacks) << place;
  EXPECT_EQ(read_error(with(2, call_of(2).write())), lacks);
  EXPECT_EQ(read_error(with(2, call_of(0).write())), lacks);
  expect_part(read_error(Blocks{whole()[0], whole()[1], whole()[2], whole()[3]}),
              " is truncated after " +
                  std::to_string(file_of({whole()[0], whole()[1], whole()[2], whole()[3]}).size()) +
                  " bytes: the parts before the call are incomplete");
  expect_part(read_error(file_of(whole()) + "x"), " bytes: a block after the call's end is incomplete");
  EXPECT_EQ(read_error(file_of(without(5)) + "x"), "") << "a block that was being written";
  expect_part(read_error(with_more(6, BlockKind::kEnd, end_of(7))), ": the block of kind 8 at offset ");
  expect_part(read_error(with_more(6, BlockKind::kEnd, end_of(7))), " follows the end of the call");
  expect_part(read_error(with_more(5, BlockKind::kValue, value(7))), ": the block of kind 4 at offset ");
  expect_part(read_error(with_more(5, BlockKind::kValue, value(7))), " follows the beginning of the call");
  expect_part(read_error(with_more(5, BlockKind::kReady, "")), " follows the beginning of the call");
  expect_part(read_error(with_more(0, BlockKind::kEnd, end_of(7))), " precedes its beginning");
  expect_part(read_error(with_more(4, BlockKind::kOperator, KeptOperator{"f", {}}.write())), " precedes its beginning");
  expect_part(read_error(with_more(5, static_cast<BlockKind>(9), "")), "block of kind 9 at offset ");
  expect_part(read_error(with_more(5, static_cast<BlockKind>(9), "")), " is unknown");
  expect_part(read_error(with_more(0, static_cast<BlockKind>(0), "")), " is unknown");
}

TEST(ACapture, SaysWhichBytesAreTooMany) {
  for (const size_t place : {0, 2, 3, 5})
    expect_part(read_error(with(place, whole()[place].second + "ab")), "has 2 bytes too many");
  EXPECT_EQ(read_error(with(4, "ab")), "") << "of an empty block nothing is read";
}

TEST(ACapture, HasAHeaderOfAKnownVersion) {
  const auto changed = [](size_t at, char byte) {
    std::string file = file_of(whole());
    file[at] = byte;
    return read_error(file);
  };
  EXPECT_EQ(changed(0, 'x'), "c.opdrec is not a recording of a call: it does not begin with \"opdynoR1\"");
  EXPECT_EQ(changed(8, 2), std::to_string(OPD_UNSUPPORTED) +
                               " c.opdrec has version 2 of the format of recordings; this opdyno reads 1 and older");
  expect_part(changed(8, 0), "must be 1, but is 0");
  expect_part(changed(12, 1), "must end with 0");
  EXPECT_EQ(read_error(std::string("opdyno")),
            "c.opdrec is not a recording of a call: it does not begin with \"opdynoR1\"");
}

TEST(ACapture, NumbersItsBlocksAndHasTheirChecksums) {
  const std::string file = file_of(whole());
  std::string moved = file.substr(0, 16);
  const size_t first = sizeof(BlockHead) + whole()[0].second.size(),
               second = sizeof(BlockHead) + whole()[1].second.size();
  moved += file.substr(16 + first, second) + file.substr(16, first) + file.substr(16 + first + second);
  expect_part(read_error(moved), "is damaged: number 0 does not have its checksum");
  std::string damaged = file;
  damaged[16 + first + sizeof(BlockHead)] ^= 1;
  expect_part(read_error(damaged), "c.opdrec: block 1 at offset " + std::to_string(16 + first + sizeof(BlockHead)) +
                                       " is damaged: its " + std::to_string(whole()[1].second.size()) +
                                       " bytes do not have its checksum");
}

TEST(TheCapturedCall, ComesBackAsItWas) {
  KeptCall call;
  call.function = "decode";
  call.vm.devices = {{{kDLCUDA, 2}, OPD_ALLOCATOR_NAIVE}, {{kDLCPU, 0}, OPD_ALLOCATOR_POOLED}};
  call.vm.memory_limit_bytes = 123, call.vm.max_depth = 45, call.timeout_ns = 678, call.num_args = 2;
  call.names = {"x", ""}, call.host_functions = {"f", "g", "h"};
  for (const bool has_operators : {false, true}) {
    call.has_operators = has_operators, call.is_observed = !has_operators;
    const std::string bytes = call.write();
    const KeptCall again = KeptCall::read(as_bytes(bytes), "c");
    EXPECT_EQ(again.function, "decode");
    ASSERT_EQ(again.vm.devices.size(), 2u);
    EXPECT_EQ(again.vm.devices[0].device.device_type, kDLCUDA);
    EXPECT_EQ(again.vm.devices[0].device.device_id, 2);
    EXPECT_EQ(again.vm.devices[0].allocator, OPD_ALLOCATOR_NAIVE);
    EXPECT_EQ(again.vm.devices[1].allocator, OPD_ALLOCATOR_POOLED);
    EXPECT_EQ(again.vm.memory_limit_bytes, 123u);
    EXPECT_EQ(again.vm.max_depth, 45);
    EXPECT_EQ(again.timeout_ns, 678);
    EXPECT_EQ(again.num_args, 2u);
    EXPECT_EQ(again.names, call.names);
    EXPECT_EQ(again.host_functions, call.host_functions);
    EXPECT_EQ(again.has_operators, has_operators);
    EXPECT_EQ(again.is_observed, !has_operators);
    EXPECT_EQ(again.write(), bytes);
  }
  const auto error = [](KeptCall changed) {
    const std::string bytes = changed.write();
    return read_error([&] { KeptCall::read(as_bytes(bytes), "c"); });
  };
  call.names = {"x"};
  expect_part(error(call), "must be one for each argument");
  call.names = {};
  EXPECT_EQ(error(call), "");
  std::string bytes = call.write();
  for (const size_t flag : {size_t{1}, size_t{2}}) {
    std::string changed = bytes;
    changed[bytes.size() - flag] = 2;
    expect_part(read_error([&] { KeptCall::read(as_bytes(changed), "c"); }), "must be 0 or 1, but is 2");
  }
}

TEST(TheCapturedProcess, ComesBackAsItWas) {
  CapturedProcess process;
  process.opdyno = "1.2.3", process.architecture = "z80", process.features = "fast", process.host = "here";
  process.threads = 17, process.environment = {{"A", "1"}, {"B", ""}};
  const std::string bytes = process.write();
  const CapturedProcess again = CapturedProcess::read(as_bytes(bytes), "c");
  EXPECT_EQ(again.opdyno, "1.2.3");
  EXPECT_EQ(again.architecture, "z80");
  EXPECT_EQ(again.features, "fast");
  EXPECT_EQ(again.host, "here");
  EXPECT_EQ(again.threads, 17);
  EXPECT_EQ(again.environment, process.environment);
}

TEST(TheKeptError, HasItsFirstCause) {
  Ref<Error> root = make_error(OPD_NOT_FOUND, "no kernel", "KeyError");
  Ref<Error> middle = make_error(OPD_CALL_FAILED, "in f", "ValueError");
  middle->set_cause(root);
  Ref<Error> top = make_error(OPD_CALL_FAILED, "in main", "RuntimeError");
  top->set_cause(middle);
  ByteWriter out;
  KeptError::of(*top).write(out);
  const std::string bytes = out.take();
  ByteReader in(as_bytes(bytes), "c");
  const KeptError again = KeptError::read(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(again.code, OPD_CALL_FAILED);
  EXPECT_EQ(again.kind, "RuntimeError");
  EXPECT_EQ(again.message, "in main");
  EXPECT_EQ(again.root_code, OPD_NOT_FOUND);
  EXPECT_EQ(again.root_kind, "KeyError");
  EXPECT_EQ(again.root_message, "no kernel");
  EXPECT_TRUE(again.is_same(KeptError::of(*root)));
  EXPECT_FALSE(again.is_same(KeptError::of(*make_error(OPD_NOT_FOUND, "no kernels"))));
  EXPECT_FALSE(again.is_same(KeptError::of(*make_error(OPD_IO, "no kernel"))));
  for (const size_t place : {size_t{0}, bytes.size() - (4 + 8 + 8 + 8 + 9)})
    for (const int32_t code : {0, -1, 257, 256}) {
      std::string changed = bytes;
      std::memcpy(&changed[place], &code, sizeof code);
      ByteReader from(as_bytes(changed), "c");
      const std::string error = read_error([&] { KeptError::read(from); });
      if (code == 256) {
        EXPECT_EQ(error, "");
      } else {
        expect_part(error, "is not an error code");
      }
    }
}

TEST(TheEndOfACapture, HasAResultOrAnError) {
  for (const bool with_outputs : {false, true}) {
    const std::string bytes = write_end(nullptr, opd_int(5), with_outputs);
    const KeptEnd end = KeptEnd::read(as_bytes(bytes), "c");
    EXPECT_FALSE(end.error);
    EXPECT_EQ(end.has_outputs, with_outputs);
    EXPECT_EQ(end.result.number, 5);
  }
  const std::string bytes = write_end(make_error(OPD_IO, "full").get(), opd_int(5), false);
  const KeptEnd end = KeptEnd::read(as_bytes(bytes), "c");
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->message, "full");
}

TEST(ACallOfTheHost, KeepsTheTensorsThatItWrote) {
  const int64_t dims[] = {2};
  Ref<Tensor> kept = make_tensor(dims, {kDLInt, 8, 1}, {kDLCPU, 0}),
              written = make_tensor(dims, {kDLInt, 8, 1}, {kDLCPU, 0});
  std::memcpy(kept->dl.data, "ab", 2), std::memcpy(written->dl.data, "cd", 2);
  const std::vector<Value> args = {Value(kept), Value(written), Value(int64_t{3})};
  const OpenHostCall open("f", views_of(args));
  std::memcpy(written->dl.data, "CD", 2);
  ValueWriter values(Keeping::kArguments);
  const std::string bytes = open.write_return(views_of(args), args[1].view(), values);
  const KeptHostCall call = KeptHostCall::read(as_bytes(bytes), "c");
  EXPECT_EQ(call.function, "f");
  EXPECT_FALSE(call.error);
  ASSERT_EQ(call.args.size(), 3u);
  EXPECT_EQ(call.args[0].hash, hash_of_value(args[0].view()));
  EXPECT_TRUE(call.args[0].written.empty());
  ASSERT_EQ(call.args[1].written.size(), 1u);
  EXPECT_EQ(as_text(call.args[1].written[0]), "CD");
  EXPECT_NE(call.args[1].hash, hash_of_value(args[1].view())) << "the hash is of what was there before";
  EXPECT_EQ(call.args[2].hash, hash_of_value(args[2].view()));
  EXPECT_EQ(call.result.kind, KeptValue::kGivenTensor);
  EXPECT_EQ(call.result.number, 1) << "the second of the tensors that it was given";
  const std::string failed = open.write_failure(*make_error(OPD_IO, "full"));
  const KeptHostCall failure = KeptHostCall::read(as_bytes(failed), "c");
  EXPECT_EQ(failure.function, "f");
  ASSERT_EQ(failure.args.size(), 3u);
  EXPECT_EQ(failure.args[0].hash, call.args[0].hash);
  EXPECT_TRUE(failure.args[1].written.empty());
  ASSERT_TRUE(failure.error);
  EXPECT_EQ(failure.error->root_message, "full");
}
