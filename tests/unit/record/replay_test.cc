// Recordings whose checksums are right, but not what they say.
#include "record/replay.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "support/plain_program.h"
#include "vm/executable_module.h"

using namespace opd;
using opdyno_test::program;

namespace {

std::string file_of(const KeptCall &call) {
  const std::pair<BlockKind, std::string> blocks[] = {{BlockKind::kAbout, RecordedProcess::of_this(false).write()},
                                                      {BlockKind::kModule, write_program_module(program(), {})},
                                                      {BlockKind::kCall, call.write()},
                                                      {BlockKind::kReady, ""}};
  std::string path = testing::TempDir() + "unit_record_replay.opdrec", file = recording_header();
  uint32_t number = 0;
  for (const auto &[kind, content] : blocks) {
    const BlockHead head = head_of(kind, number++, content);
    file.append(reinterpret_cast<const char *>(&head), sizeof head);
    file += content;
  }
  std::ofstream(path, std::ios::binary) << file;
  return path;
}

}  // namespace

TEST(ARecording, ThatAsksForAVmThatCannotBeIsDamaged) {
  register_executable_format();
  KeptCall call;
  call.function = "main";
  call.vm.max_depth = 0;
  const std::string path = file_of(call);
  try {
    Replay(path, {});
    FAIL() << "it was replayed";
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT);
    EXPECT_NE(std::string(e.what()).find("max_depth must be at least 1"), std::string::npos) << e.what();
  }
  std::remove(path.c_str());
}
