// Captures whose checksums are right, but not what they say.
#include "replay/replay.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "support/plain_program.h"
#include "vm/executable_module.h"

using namespace opd;
using opdyno_test::file_of;
using opdyno_test::program;

namespace {

std::string written_file(const KeptCall &call) {
  const std::string path = testing::TempDir() + "unit_replay.opdrec";
  std::ofstream(path, std::ios::binary) << file_of({{BlockKind::kAbout, CapturedProcess::of_this(false).write()},
                                                    {BlockKind::kModule, write_program_module(program(), {})},
                                                    {BlockKind::kCall, call.write()},
                                                    {BlockKind::kReady, ""}});
  return path;
}

}  // namespace

TEST(ACapture, IsDamagedIfItsVmOptionsAreInvalid) {
  register_executable_format();
  KeptCall call;
  call.function = "main";
  call.vm.max_depth = 0;
  const std::string path = written_file(call);
  try {
    Replay(path, {});
    FAIL() << "it was replayed";
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT);
    EXPECT_NE(std::string(e.what()).find("max_depth must be at least 1"), std::string::npos) << e.what();
  }
  std::remove(path.c_str());
}
