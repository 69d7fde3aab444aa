// The words of a C compiler's command line, and texts that lead to further files. The options are those of GCC's and
// Clang's manuals.
#include "module/c_source_text.h"
#include "module/toolchain/compiler.h"
#include "support/c_artifact.h"

namespace opd {
namespace {

using Words = std::vector<std::string>;

struct Split {
  Words words, options, libraries;
};

TEST(CompilerFlags, AreSplitIntoThoseBeforeAndAfterTheFiles) {
  const Split cases[] = {{{"-O2", "-lm"}, {"-O2"}, {"-lm"}},
                         {{"-lm", "-O2"}, {"-O2"}, {"-lm"}},
                         {{"a.o", "x.a", "-Wall"}, {"-Wall"}, {"a.o", "x.a"}},
                         {{"@more"}, {"@more"}, {}},
                         {{"-Wl,-z,now", "-Wall,"}, {"-Wall,"}, {"-Wl,-z,now"}},
                         {{"-L/a", "-DX"}, {"-L/a", "-DX"}, {}},
                         {{"-I"}, {"-I"}, {}},
                         {{"-l"}, {}, {"-l"}}};
  for (const auto &[words, options, libraries] : cases) {
    Words before, after;
    split_flags(words, before, after);
    EXPECT_EQ(before, options) << words[0];
    EXPECT_EQ(after, libraries) << words[0];
  }
}

// The value follows as a word of its own, and must not be taken for an object file.
TEST(CompilerFlags, KeepTheirValues) {
  for (const char *option : {"-A",
                             "-B",
                             "-D",
                             "-I",
                             "-MF",
                             "-MQ",
                             "-MT",
                             "-U",
                             "-Xassembler",
                             "-Xclang",
                             "-Xpreprocessor",
                             "-aux-info",
                             "-idirafter",
                             "-imacros",
                             "-include",
                             "-include-pch",
                             "-iprefix",
                             "-iquote",
                             "-isysroot",
                             "-isystem",
                             "-iwithprefix",
                             "-iwithprefixbefore",
                             "-mllvm",
                             "-specs",
                             "-target",
                             "-wrapper",
                             "-x",
                             "--define-macro",
                             "--imacros",
                             "--include",
                             "--include-directory",
                             "--include-directory-after",
                             "--param",
                             "--sysroot",
                             "--undefine-macro"}) {
    Words before, after;
    split_flags({option, "value.o", "last.o"}, before, after);
    EXPECT_EQ(before, (Words{option, "value.o"})) << option;
    EXPECT_EQ(after, Words{"last.o"}) << option;
    EXPECT_TRUE(takes_next_word(option)) << option;
  }
  for (const char *option : {"-L", "-T", "-Xlinker", "-e", "-l", "-u", "-z", "--library-directory"}) {
    Words before, after;
    split_flags({option, "-value", "-O1"}, before, after);
    EXPECT_EQ(before, Words{"-O1"}) << option;
    EXPECT_EQ(after, (Words{option, "-value"})) << option;
    EXPECT_TRUE(takes_next_word(option)) << option;
  }
  for (const char *option : {"-O2", "-g", "-DX", "-lm", "-shared", ""}) EXPECT_FALSE(takes_next_word(option)) << option;
}

TEST(CompilerFlags, MayLeadToFilesThatTheyDoNotName) {
  for (const char *option : {"@file",
                             "-B/tools",
                             "-T",
                             "-Tscript.ld",
                             "-Xlinker",
                             "-Xclang",
                             "-Xassembler",
                             "-Wa,-I/x",
                             "-Wl,-T,script",
                             "-Wl,--script=",
                             "-Wl,-dT,script",
                             "-Wl,@file",
                             "-Wl,-plugin,x",
                             "-Wl,--plugin=x",
                             "-fauto-profile=x",
                             "-fplugin=x.so",
                             "-fprofile-use=x",
                             "-fprofile-instr-use=x",
                             "-include-pch",
                             "-ivfsoverlay",
                             "-specs=x",
                             "--specs=x",
                             "-wrapper",
                             "-fmodules",
                             "-save-temps",
                             "-fbranch-probabilities"})
    EXPECT_TRUE(leads_to_unknown_files(option)) << option;
  for (const char *option : {"-O2", "-I/x", "-include", "-lm", "-Wl,-z,now", "-Wall", "-fPIC", "-march=native", "a@b"})
    EXPECT_FALSE(leads_to_unknown_files(option)) << option;
}

TEST(CompilerFlags, NameFilesAsWordsAndInValues) {
  const std::string a = opdyno_test::write_text("flag_a.h", "a"), b = opdyno_test::write_text("flag_b.h", "b"),
                    directory = opdyno_test::scratch_directory();
  const auto named = [](const Words &words) { return files_named_by(words); };
  EXPECT_EQ(named({"-include", a, b}), (Words{a, b}));
  EXPECT_EQ(named({"-x=" + a}), Words{a});
  EXPECT_EQ(named({"-Wl,--list=" + a + "," + b}), (Words{a, b}));
  EXPECT_EQ(named({"-Wl," + a + "," + b + ",last"}), (Words{a, b}));
  EXPECT_EQ(named({"-x" + a}), Words{}) << "a word of its own, or after a sign";
  EXPECT_EQ(named({directory, "-x=" + directory, "/no/such/file", "-x=", ","}), Words{}) << "neither directories";
}

TEST(CompilerFlags, DependOnWhetherASourceIncludesTvmsHeaders) {
  EXPECT_TRUE(includes_tvm_headers("#include <tvm/ffi/c_api.h>\n"));
  EXPECT_TRUE(includes_tvm_headers("int x;\n#include \"tvm/runtime/base.h\"\n"));
  EXPECT_FALSE(includes_tvm_headers("#include <math.h>\n// tvm/ffi\n"));
}

TEST(PreprocessedText, MayLetTheAssemblerReadFurtherFiles) {
  for (const char *text :
       {R"(__asm__(".incbin \"x\"");)", R"(asm(".include \"x\"");)", R"(asm (".INCBIN x");)", R"(asm(".inc" "bin x");)",
        R"(__asm("nop\n.incbin x");)", R"(asm volatile("nop" : : : "memory"); asm(".incbin x");)",
        R"(asm(".macro m\n.endm");)", R"(asm(".irp n,1\n.endr");)", R"(asm(".altmacro");)", R"(asm("\x2eincbin");)",
        R"(asm("\u002eincbin");)", R"(asm("\056incbin");)", R"(asm("a;\"b;" ".incbin");)", "#embed <x>", "#include <x>",
        "#import <x>", R"(x;asm(".incbin x"))"})
    EXPECT_TRUE(may_read_files(text)) << text;
  for (const char *text :
       {"", "int x;", R"(asm("nop");)", R"(asm("nop"); const char *s = ".incbin";)", R"(asm("nop\n\tmov");)",
        R"(plasma(".incbin x");)", R"(myasm(".incbin x");)", R"(asm1(".incbin x");)", "asm",
        R"(const char *s = ".incbin";)", R"(asm("mov $8, %0" : "=r"(x));)"})
    EXPECT_FALSE(may_read_files(text)) << text;
}

}  // namespace
}  // namespace opd
