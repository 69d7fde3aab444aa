// What a build runs: programs with their output, and inputs of a link.
#include <elf.h>
#include <signal.h>

#include <map>

#include "module/elf/elf_machine.h"
#include "module/image/library_image.h"
#include "module/toolchain/compiler.h"
#include "module/toolchain/toolchain.h"
#include "support/c_artifact.h"
#include "support/log_messages.h"
#include "support/refusal.h"

namespace opd {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using opdyno_test::fresh_directory;
using opdyno_test::read_bytes;
using opdyno_test::scratch_directory;
using opdyno_test::write_text;

TEST(AProgram, GivesItsOutputAndWhetherItSucceeded) {
  const std::string log = scratch_directory() + "/program.log";
  const auto run = [&](const std::string &command) { return run_program({"sh", "-c", command}, log, {}); };
  const auto good = run("echo out; echo err >&2; cat; exit 0");  // its input is empty
  EXPECT_TRUE(good.succeeded);
  EXPECT_EQ(good.output, "out\nerr\n");
  EXPECT_FALSE(run("exit 1").succeeded);
  EXPECT_FALSE(run("kill -9 $$").succeeded);
  EXPECT_EQ(run("printf last").output, "last") << "of this run only";
  EXPECT_EQ(refusal(OPD_NOT_FOUND, [&] { run_program({"no-such-program"}, log, {}); }),
            "cannot run no-such-program: No such file or directory");
}

// The kernel's masks of a program's signals: bit n - 1 stands for signal n.
TEST(AProgram, HasTheUsualSignalsAndThoseIgnoredThatItsUserIgnores) {
  const std::vector<int> given_back = {SIGPIPE, SIGXFSZ, SIGCHLD};
  std::vector<int> kept = {SIGHUP,  SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,  SIGTERM, SIGTSTP,
                           SIGTTIN, SIGURG, SIGTTOU, SIGIO,   SIGPWR,  SIGWINCH, SIGPROF, SIGVTALRM};
  for (int signal_number = SIGRTMIN; signal_number < SIGRTMIN + 8; ++signal_number) kept.push_back(signal_number);
  std::vector<int> all = kept;
  all.insert(all.end(), given_back.begin(), given_back.end());
  std::map<int, struct sigaction> before;
  for (const int number : all) {
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(number, &ignored, &before[number]), 0);
  }
  sigset_t blocked, unblocked;
  sigemptyset(&blocked);
  for (const int number : {SIGUSR1, SIGINT, SIGTERM}) sigaddset(&blocked, number);
  pthread_sigmask(SIG_BLOCK, &blocked, &unblocked);
  const auto masks = run_program({"grep", "^Sig", "/proc/self/status"}, scratch_directory() + "/signals.log", {});
  pthread_sigmask(SIG_SETMASK, &unblocked, nullptr);
  for (const auto &[number, action] : before) ::sigaction(number, &action, nullptr);
  const auto mask = [&](const std::string &name) {
    const size_t at = masks.output.find(name + ":");
    EXPECT_NE(at, std::string::npos) << masks.output;
    return at == std::string::npos ? 0 : std::stoull(masks.output.substr(at + name.size() + 1), nullptr, 16);
  };
  const uint64_t ignored = mask("SigIgn");
  for (const int number : given_back) EXPECT_EQ(ignored >> (number - 1) & 1, 0u) << number;
  for (const int number : kept) EXPECT_EQ(ignored >> (number - 1) & 1, 1u) << number;
  EXPECT_EQ(mask("SigBlk"), 0u);
}

// A program of the host's group gets its Ctrl-C; one that may be ended, with all that it started, has its own group.
TEST(AProgram, HasAGroupOfItsOwnIfItHasADeadline) {
  const std::string log = scratch_directory() + "/group.log";
  const auto group = [&](const Deadline &deadline) {
    return std::stoi(
        run_program({"sh", "-c", "ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat"}, log, deadline)
            .output);
  };
  EXPECT_EQ(group({}), ::getpgrp());
  EXPECT_NE(group(std::chrono::steady_clock::now() + std::chrono::hours(1)), ::getpgrp());
  EXPECT_EQ(refusal(OPD_DEADLINE_EXCEEDED,
                    [&] {
                      run_program({"sleep", "1000"}, log, std::chrono::steady_clock::now());
                    }),
            "sleep was still running when the time for it was over, and was ended");
}

std::string object_header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_REL, header.e_machine = kMachine;
  return {reinterpret_cast<const char *>(&header), sizeof header};
}

TEST(LinkInputs, AreObjectsArchivesAndSourcesForThisMachine) {
  const std::string good = object_header(), here = machine_name(kMachine);
  const auto with = [&](size_t at, char byte) {
    std::string changed = good;
    changed[at] = byte;
    return changed;
  };
  const std::string no_elf = " is not an object file: it does not start with the bytes 7f 45 4c 46 (at offset 0)";
  struct Case {
    std::string name, content;
    opd_code code;
    std::string message;
  };
  for (const auto &[name, content, code, message] :
       {Case{"a.o", good, OPD_OK, "accepted"},
        {"a.o", good.substr(0, 63), OPD_BAD_FORMAT, "x.tar: a.o" + no_elf},
        {"a.o", with(0, 'E'), OPD_BAD_FORMAT, "x.tar: a.o" + no_elf},
        {"x.tar", with(3, 'E'), OPD_BAD_FORMAT, "x.tar" + no_elf},
        {"a.o", with(EI_CLASS, 1), OPD_UNSUPPORTED,
         "x.tar: a.o is an object file for " + here + "; this machine is " + here},
        {"a.o", with(EI_DATA, 2), OPD_UNSUPPORTED,
         "x.tar: a.o is an object file for " + here + "; this machine is " + here},
        {"a.o", with(18, 40), OPD_UNSUPPORTED, "x.tar: a.o is an object file for ARM; this machine is " + here},
        {"a.o", with(16, 3), OPD_BAD_FORMAT,
         "x.tar: a.o is an ELF file of type 3 (at offset 16), not an object file, type 1"},
        {"a.a", "!<arch>\n", OPD_OK, "accepted"},
        {"a.a", "!<arch>", OPD_BAD_FORMAT, "x.tar: a.a is not an archive of object files (at offset 0)"},
        {"a.c", "any text", OPD_OK, "accepted"}})
    EXPECT_EQ(refusal(code,
                      [&, n = name, c = content] {
                        check_link_inputs({{"b.c", ""}, {n, c}}, "x.tar");
                      }),
              message)
        << name;
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [] { check_link_inputs({}, "x.tar"); }), "x.tar has no object files to link");
}

// What may be in a name of a tar archive must not reach a command line.
TEST(LinkInputs, AreWrittenWithPlainNamesInTheirOrder) {
  const BuildDirectory build(fresh_directory("inputs"));
  const std::string long_name(100, 'n');
  const Words words = write_link_inputs({{"d/one.o", "1"},
                                         {"sp ace;$(x)-\"'`\n.c", "2"},
                                         {"lib.a", "3"},
                                         {"/deep/none", "4"},
                                         {"d/" + long_name + ".c", "5"},
                                         {"AZaz09_.o", "6"}},
                                        build);
  EXPECT_EQ(words, (Words{build.file("0-one.o"), build.file("1-sp_ace___x______.c"), "-Wl,--whole-archive",
                          build.file("2-lib.a"), "-Wl,--no-whole-archive", build.file("3-none.o"),
                          build.file("4-" + long_name.substr(0, 64) + ".c"), build.file("5-AZaz09_.o")}));
  EXPECT_EQ(read_bytes(build.file("0-one.o")), "1");
  EXPECT_EQ(read_bytes(build.file("2-lib.a")), "3");
  const Words with_headers = write_link_inputs({{"t.c", "#include <tvm/ffi/c_api.h>\n"}}, build);
  EXPECT_EQ(with_headers, (Words{build.file("0-t.c"), "-idirafter", build.file("include")}));
  for (const char *header : {"dlpack/dlpack.h", "tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h", "tvm/runtime/base.h",
                             "tvm/runtime/c_backend_api.h"})
    EXPECT_TRUE(fs::is_regular_file(build.file("include/") + header)) << header;
}

TEST(LinkedObjects, AreKeptByTheirContentAndLogWarnings) {
  ModuleOptions options;
  options.cache_dir = fresh_directory("linked"), options.c_flags = "-O1", options.compiler = "cc";
  const auto count = [&] { return std::distance(fs::directory_iterator(options.cache_dir), fs::directory_iterator()); };
  const auto link = [&](const std::string &name, const std::string &text) {
    return link_objects({{name, text}}, "x.tar", options).path;
  };
  const std::string one = link("a.c", "int f(void) { return 1; }\n");
  EXPECT_EQ(one, link("a.c", "int f(void) { return 1; }\n"));
  EXPECT_EQ(count(), 1);
  EXPECT_NE(one, link("a.c", "int f(void) { return 2; }\n"));
  EXPECT_EQ(count(), 2);
  // Two objects whose names differ are one content; an object and an archive are not.
  const std::string object = fresh_directory("object") + "/x.o";
  ASSERT_EQ(std::system(("echo 'int g(void) { return 1; }' | cc -fPIC -c -x c -o '" + object + "' -").c_str()), 0);
  EXPECT_EQ(link("a.o", read_bytes(object)), link("b.o", read_bytes(object)));
  EXPECT_EQ(count(), 3);
  const opdyno_test::LogMessages messages;
  link("a.c", "#warning sent\nint f(void) { return 4; }\n");
  ASSERT_EQ(messages.all().size(), 1u);
  EXPECT_EQ(messages.all()[0].level, OPD_LOG_WARNING);
  EXPECT_TRUE(messages.all()[0].text.starts_with("cc on x.tar:\n0-a.c:1:2: warning: ")) << messages.all()[0].text;
  // What the assembler reads decides, too, and no name covers it.
  const auto link_bytes = [&](const char *content) {
    const std::string bytes = write_text("assembled.bin", content);
    return link("a.c", "__asm__(\".data\\n.incbin \\\"" + bytes + "\\\"\\n.text\");\n");
  };
  EXPECT_NE(link_bytes("one"), link_bytes("two"));
  const std::string failed = refusal(OPD_CALL_FAILED, [&] { link("a.c", "int f(void) { return gone; }\n"); });
  EXPECT_TRUE(failed.starts_with("cc could not link x.tar:\n0-a.c:")) << failed;
  const std::string broken = refusal(OPD_CALL_FAILED, [&] { link("a.c", "#error broken\n"); });
  EXPECT_TRUE(broken.starts_with("cc could not link x.tar:\na.c:1:2: error: #error broken")) << broken;
}

TEST(CompiledSources, AreKeptByTheirPreprocessedTextAndLogWarnings) {
  ModuleOptions options;
  options.cache_dir = fresh_directory("compiled"), options.c_flags = "-O1", options.compiler = "cc";
  const auto compile = [&](const std::string &text, const std::string &path = "") {
    return compile_source(text, path, options).path;
  };
  const std::string one = compile("int f(void) { return 1; }\n");
  EXPECT_EQ(one, compile("int f(void) { return 1; }\n"));
  EXPECT_EQ(one, compile("int /* c */ f(void) { return 1; }\n"));
  EXPECT_NE(one, compile("int f(void) { return 2; }\n"));
  EXPECT_NE(one, compile("int f(void) { return 1; }\n", "/some/where.c")) << "a library names its source";
  const opdyno_test::LogMessages messages;
  compile("#warning sent\nint g;\n", "/some/odd\\\"name.c");
  ASSERT_EQ(messages.all().size(), 1u);
  const std::string warning = messages.all()[0].text;
  EXPECT_TRUE(warning.starts_with("the C compiler on /some/odd\\\"name.c:\n/some/odd\\\"name.c:1:2: warning: "))
      << warning;
  const auto failed = [&](const std::string &path) {
    return refusal(OPD_CALL_FAILED, [&] { compile("int f(void) { return gone; }\n", path); });
  };
  EXPECT_TRUE(failed("").starts_with("the C compiler cc could not compile the C source:\nsource.c:")) << failed("");
  EXPECT_TRUE(failed("/x.c").starts_with("the C compiler cc could not compile /x.c:\n/x.c:")) << failed("/x.c");
  // A compiler that says that all is well, but makes nothing.
  const std::string lazy =
      write_text("no-output-cc", "#!/bin/sh\ncase \" $* \" in *\" -E \"*) exec cc \"$@\";; esac\n");
  fs::permissions(lazy, fs::perms::owner_all);
  options.compiler = lazy;
  EXPECT_EQ(refusal(OPD_CALL_FAILED, [&] { compile("int f(void) { return 1; }\n"); }),
            "the C compiler " + lazy + " could not compile the C source:\n");
}

}  // namespace
}  // namespace opd
