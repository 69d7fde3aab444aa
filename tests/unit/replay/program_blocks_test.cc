// Modules in captures, from bytes that nobody's program has written.
#include <gtest/gtest.h>

#include "replay/captured_call.h"

using namespace opd;

namespace {

std::string block_error(const std::string &block, const std::vector<KeptModule> &before) {
  try {
    read_module(as_bytes(block), before, "call.opdrec");
  } catch (const Exception &e) { return e.what(); }
  return "";
}

}  // namespace

TEST(ModulesOfACapture, MayNotMakeATreeOfMoreThan1000Modules) {
  std::vector<std::string> blocks = {write_program_module("p", {})};
  std::vector<KeptModule> modules = {read_module(as_bytes(blocks[0]), {}, "call.opdrec")};
  for (uint64_t last = 0; last < 8; ++last) {  // each has the one before it twice: 3, 7, 15 … 511 modules
    blocks.push_back(write_program_module("p", {last, last}));
    modules.push_back(read_module(as_bytes(blocks.back()), modules, "call.opdrec"));
  }
  EXPECT_EQ(modules.back().tree_size, 511U);
  EXPECT_NE(block_error(write_program_module("p", {8, 8}), modules).find("makes a tree of more than 1000 modules"),
            std::string::npos);
}

TEST(ModulesOfACapture, MayOnlyImportThoseBeforeThem) {
  EXPECT_NE(block_error(write_program_module("p", {0}), {}).find("import at offset "), std::string::npos);
  EXPECT_NE(block_error(write_program_module("p", {0}), {}).find("is not of a module before it"), std::string::npos);
}

TEST(ModulesOfACapture, MayOnlyBePartsOfALibraryThatIsThere) {
  const auto part = [](uint64_t library, uint64_t offset, uint64_t size) {
    ByteWriter out;
    out.write<uint8_t>(KeptModule::kPartOfLibrary), out.write<uint8_t>(true);
    out.write_string("kind"), out.write_string(""), out.write(Sha256{}), out.write<uint64_t>(0);
    out.write(library), out.write(offset), out.write(size);
    return out.take();
  };
  KeptModule library;
  const std::string bytes(100, 'x');
  library.bytes = as_bytes(bytes);
  EXPECT_EQ(block_error(part(0, 0, 100), {library}), "");
  EXPECT_EQ(block_error(part(0, 100, 0), {library}), "");
  for (const std::string &outside :
       {part(0, 1, 100), part(0, 101, 0), part(0, UINT64_MAX, 2), part(0, 2, UINT64_MAX), part(1, 0, 1)})
    EXPECT_NE(block_error(outside, {library}).find("exceeds its library"), std::string::npos);
}
