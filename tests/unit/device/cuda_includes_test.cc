// Which files a source in CUDA C++ may include, told by a hash that changes with them.
#include <gtest/gtest.h>

#include "device/cuda/cuda_compile.h"
#include "support/c_artifact.h"

namespace opd::cuda {
namespace {

namespace fs = std::filesystem;
using opdyno_test::fresh_directory;
using opdyno_test::write_text;

class IncludedFiles : public testing::Test {
 protected:
  void SetUp() override {
    one_ = fresh_directory("one");
    two_ = fresh_directory("two");
    fs::create_directory(one_ + "/deep");
  }
  void write(const std::string &path, const std::string &text) { std::ofstream(path) << text; }
  // "" if the files cannot be told.
  std::string hash(const std::string &source) const {
    ContentHash hash;
    return add_included_files(hash, source, {one_, two_}) ? hash.hex() : "";
  }
  void expect_noticed(const std::string &source, const std::string &path) {
    write(path, "int a;\n");
    const std::string before = hash(source);
    write(path, "int b;\n");
    EXPECT_NE(hash(source), before) << source;
    EXPECT_NE(before, "") << source;
    write(path, "int a;\n");
    EXPECT_EQ(hash(source), before) << source;
  }
  std::string one_, two_;
};

TEST_F(IncludedFiles, AreFoundInEachKindOfDirective) {
  for (const char *source :
       {"#include <a.h>\n", "#include \"a.h\"\n", "#include<a.h>", " \t# \tinclude \t<a.h> // why\n",
        "#include_next <a.h>\n", "%:include <a.h>\n", "#inc\\\nlude <a.h>\n", "#inc\\\r\nlude <a.h>\n",
        "#include <a\\\n.h>\n", "#/* why */include <a.h>\n", "#if 0\n#include <a.h>\n#endif\n",
        "#if __has_include(<a.h>)\n#endif\n", "#if __has_include ( \"a.h\" )\n#endif\n",
        "#if __has_include_next(<a.h>)\n#endif\n", "#import \"a.h\"\n", "#embed <a.h>\n"}) {
    expect_noticed(source, two_ + "/a.h");
    expect_noticed(source, one_ + "/a.h");  // before that of the second folder
    fs::remove(one_ + "/a.h");
  }
  expect_noticed("#include \"" + one_ + "/deep/absolute.h\"\n", one_ + "/deep/absolute.h");
}

TEST_F(IncludedFiles, AreFoundInIncludedFilesToo) {
  write(one_ + "/a.h", "#pragma once\n#include <deep/b.h>\n#include <a.h>\n");
  write(one_ + "/deep/b.h", "#include \"c.h\"\n");
  expect_noticed("#include <a.h>\n", one_ + "/deep/c.h");  // beside the file that includes it
  EXPECT_EQ(hash("int a;"), hash("int b;")) << "the source itself is not in the hash";
}

TEST_F(IncludedFiles, ChangeTheHashIfTheyAppearOrDisappear) {
  const std::string source = "#include <a.h>\n", none = hash(source);
  write(two_ + "/a.h", "");
  const std::string second = hash(source);
  EXPECT_NE(second, none);
  write(one_ + "/a.h", "");
  EXPECT_NE(hash(source), second);
  fs::remove(one_ + "/a.h");
  EXPECT_EQ(hash(source), second);
  fs::remove(two_ + "/a.h");
  fs::create_directory(two_ + "/a.h");
  EXPECT_EQ(hash(source), none) << "a folder is no file";
}

TEST_F(IncludedFiles, AreUnknownIfTheTextDoesNotNameThem) {
  for (const char *source :
       {"#include NAME\n", "# include NAME(a.h)\n", "%:include NAME\n", "#/* why */include NAME\n",
        "#include /* why */ <a.h>\n", "#include \\\nNAME\n", "#include <a.h\n", "#include_next NAME\n",
        "#import NAME\n", "#embed NAME\n", "#if __has_include(NAME)\n", "#if __has_embed( NAME )\n",
        "#if __has_include /* why */ (<a.h>)\n", "#define ASK __has_include\n#if ASK(<a.h>)\n",
        "const char *d = __DATE__;", "const char *t = __TI\\\nME__;", "const char *t = __TIMESTAMP__;"}) {
    EXPECT_EQ(hash(source), "") << source;
    write(one_ + "/a.h", source);
    EXPECT_EQ(hash("#include <a.h>\n"), "") << source;
    fs::remove(one_ + "/a.h");
  }
}

TEST_F(IncludedFiles, AreNotFoundInOtherWords) {
  const std::string none = hash("");
  for (const char *source :
       {"// files that we include\n", "int include = 1, import, embed;\n", "#ifdef __has_include\n#endif\n",
        "#ifndef __has_include_next\n#endif\n", "#if defined(__has_include)\n#endif\n",
        "#if defined ( __has_embed )\n#endif\n", "#if defined __has_include // known\n#endif\n",
        "// that is important: a.h\n", "# \n include\n", "include", "a \\ b\\\\\n"})
    EXPECT_EQ(hash(source), none) << source;
}

// Of each name there is a file: "./" and "/" may be repeated.
TEST_F(IncludedFiles, AreUnknownIfThereAreTooMany) {
  const auto repeated = [](const char *text, int count) {
    std::string all;
    while (count-- > 0) all += text;
    return all;
  };
  const auto names = [&](int count) {
    std::string source;
    for (int i = 0; i < count; ++i)
      source += "#include <" + repeated("./", i / 64) + "." + repeated("/", i % 64 + 1) + "a.h>\n";
    return source;
  };
  write(one_ + "/a.h", "");
  EXPECT_NE(hash(names(4096)), "");
  EXPECT_EQ(hash(names(4097)), "");
}

TEST_F(IncludedFiles, AreUnknownIfTheyAreTooLarge) {
  write(one_ + "/a.h", "");
  write(one_ + "/b.h", "");
  const std::string source = "#include <a.h>\n#include <b.h>\n";
  fs::resize_file(one_ + "/a.h", 32 << 20);
  fs::resize_file(one_ + "/b.h", 32 << 20);
  EXPECT_NE(hash(source), "");
  fs::resize_file(one_ + "/b.h", (32 << 20) + 1);
  EXPECT_EQ(hash(source), "");
}

// Each inclusion makes the path longer, and the system ends paths.
TEST_F(IncludedFiles, MayIncludeThemselves) {
  write(one_ + "/deep/a.h", "#include \"../deep/a.h\"\n");
  EXPECT_NE(hash("#include <deep/a.h>\n"), "");
}

TEST_F(IncludedFiles, MayLieInTheFolderOfWork) {
  const fs::path before = fs::current_path();
  const std::string folder = fresh_directory("folder");
  fs::current_path(folder);
  expect_noticed("#include <of_work.h>\n", folder + "/of_work.h");
  write(one_ + "/a.h", "#include <of_work.h>\n");
  expect_noticed("#include <a.h>\n", folder + "/of_work.h");
  fs::current_path(before);
}

}  // namespace
}  // namespace opd::cuda
