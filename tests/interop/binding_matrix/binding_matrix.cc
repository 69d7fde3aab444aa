// Whom an artifact's calls of TVM's functions reach, in every order in which opdyno, TVM and artifacts can be in a
// process.
//
//   binding_matrix LIBOPDYNO          builds the artifacts, runs each situation in a process of its own, prints what
//   went wrong binding_matrix --one …            one situation
//
// TVM is a stand-in that counts who calls it. With OPDYNO_TEST_TVM_LIBS=path:path… real libraries are loaded in its
// place.
#include <dlfcn.h>
#include <opdyno/opdyno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "artifacts.h"

namespace {

[[noreturn]] void fail(const std::string &what) {
  std::printf("    %s\n", what.c_str());
  std::fflush(stdout);
  _exit(1);
}
void expect(bool holds, const std::string &what) {
  if (!holds) fail(what);
}

template <class F>
F *name_in(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (!address) fail(std::string("no symbol ") + name);
  return reinterpret_cast<F *>(address);
}

void *open_library(const std::string &path, int flags) {
  void *handle = dlopen(path.c_str(), RTLD_LAZY | flags);
  if (!handle) fail(dlerror());
  return handle;
}

// ---- one situation

struct Situation {
  std::string library;  // libopdyno
  std::string scope;    // local, global: how it is loaded
  std::string tvm;      // none, before, after: when TVM is loaded, for everybody
  std::string copy;     // always, shared
  std::string artifact;
  std::string stand_in;
};

struct Opdyno {
  void *handle;
  decltype(opd_module_load) *load = name_in<decltype(opd_module_load)>(handle, "opd_module_load");
  decltype(opd_module_get_function) *get =
      name_in<decltype(opd_module_get_function)>(handle, "opd_module_get_function");
  decltype(opd_module_has_function) *has =
      name_in<decltype(opd_module_has_function)>(handle, "opd_module_has_function");
  decltype(opd_function_call) *call_function = name_in<decltype(opd_function_call)>(handle, "opd_function_call");
  decltype(opd_function_create) *create = name_in<decltype(opd_function_create)>(handle, "opd_function_create");
  decltype(opd_function_register) *add_global =
      name_in<decltype(opd_function_register)>(handle, "opd_function_register");
  decltype(opd_error_message) *message = name_in<decltype(opd_error_message)>(handle, "opd_error_message");
  decltype(opd_object_release) *release = name_in<decltype(opd_object_release)>(handle, "opd_object_release");

  std::string text(opd_error *error) const {
    if (!error) return "";
    const std::string out = message(error);
    release(error);
    return out;
  }
  opd_module *open(const std::string &path, const std::string &copy) const {
    opd_module_options options;
    opd_module_options_init(&options);
    options.copy = copy == "shared" ? OPD_COPY_WHEN_SHARED : OPD_COPY_ALWAYS;
    opd_module *module = nullptr;
    const std::string problem = text(load(path.c_str(), &options, &module));
    expect(problem.empty(), problem);
    return module;
  }
  std::string call(opd_module *module, const char *name, const std::vector<opd_value> &args,
                   opd_value *result = nullptr) const {
    opd_function *function = nullptr;
    const std::string problem = text(get(module, name, 1, &function));
    expect(problem.empty(), problem);
    const std::string answer = text(call_function(function, args.data(), static_cast<int32_t>(args.size()), result));
    release(function);
    return answer;
  }
};

opd_error *add(void *, const opd_value *args, int32_t, opd_value *out) {
  *out = opd_int(args[0].u.int64 + args[1].u.int64);
  return nullptr;
}

// Every way in which the artifact calls back must reach us.
void check_ours(const Opdyno &opdyno, opd_module *module) {
  for (const char *name : {"fail", "fail_by_pointer"}) {
    const std::string answer = opdyno.call(module, name, {});
    expect(answer == "from the artifact", std::string(name) + " gave us: " + answer);
  }
  opd_value sum = opd_none();
  const std::string answer = opdyno.call(module, "look_up", {opd_int(2), opd_int(3)}, &sum);
  expect(answer.empty() && sum.u.int64 == 5, "look_up gave us: " + answer);
  if (!opdyno.has(module, "__vmtir__main", 0)) return;
  opd_value registers[3] = {opd_int(40), opd_none(), opd_none()}, constants[1] = {opd_int(2)};
  const std::string compiled =
      opdyno.call(module, "__vmtir__main",
                  {opd_pointer(nullptr), opd_pointer(registers), opd_pointer(constants), opd_pointer(nullptr)});
  expect(compiled.empty() && registers[2].u.int64 == 42 && registers[0].type == OPD_NONE,
         "__vmtir__main gave us: " + compiled);
}

using Kernel = int(void *, const opd_value *, int32_t, opd_value *);

// The artifact as TVM loads it must reach TVM, whatever we did.
void check_theirs(void *tvm, void *artifact) {
  auto *hits = name_in<int()>(tvm, "stand_in_hits");
  for (const char *name : {"__tvm_ffi_fail", "__tvm_ffi_fail_by_pointer", "__tvm_ffi_look_up"}) {
    const int before = hits();
    opd_value result = opd_none();
    expect(name_in<Kernel>(artifact, name)(nullptr, nullptr, 0, &result) == -1 && hits() == before + 1,
           std::string(name) + " of TVM's artifact did not reach TVM");
  }
}

std::vector<std::string> tvm_libraries(const Situation &s) {
  const char *real = std::getenv("OPDYNO_TEST_TVM_LIBS");
  std::istringstream list(real ? real : s.stand_in);
  std::vector<std::string> paths;
  for (std::string path; std::getline(list, path, ':');) paths.push_back(path);
  return paths;
}

int run_one(const Situation &s) {
  void *tvm = nullptr;
  const auto load_tvm = [&] {
    for (const auto &path : tvm_libraries(s)) tvm = open_library(path, RTLD_GLOBAL);
  };
  if (s.tvm == "before") load_tvm();
  const Opdyno opdyno{open_library(s.library, s.scope == "global" ? RTLD_GLOBAL : RTLD_LOCAL)};
  if (s.tvm == "after") load_tvm();
  opd_function *function = nullptr;
  expect(opdyno.text(opdyno.create(add, nullptr, nullptr, &function)).empty(), "no function");
  expect(opdyno.text(opdyno.add_global("matrix.add", function, 0)).empty(), "no registration");

  opd_module *module = opdyno.open(s.artifact, s.copy);
  check_ours(opdyno, module);
  if (!tvm || std::getenv("OPDYNO_TEST_TVM_LIBS")) return 0;
  expect(name_in<int()>(tvm, "stand_in_hits")() == 0, "our artifact's calls reached TVM");
  if (s.copy == "shared") return 0;  // documented: wrong if TVM opens the file later

  // The same file in TVM: opened after us here, and before us below.
  void *theirs = name_in<void *(const char *)>(tvm, "stand_in_load")(s.artifact.c_str());
  expect(theirs, "TVM cannot load the artifact");
  check_theirs(tvm, theirs);
  check_ours(opdyno, module);
  opd_module *second = opdyno.open(s.artifact, s.copy);
  check_ours(opdyno, second);
  check_theirs(tvm, theirs);
  opdyno.release(module);
  check_ours(opdyno, second);
  dlclose(theirs);
  // Somebody loads it for everybody: its slots would take the place of ours.
  if (void *global = dlopen(s.artifact.c_str(), RTLD_LAZY | RTLD_GLOBAL)) {
    opd_module *third = opdyno.open(s.artifact, s.copy);
    check_ours(opdyno, third);
    check_ours(opdyno, second);
    opdyno.release(third);
    dlclose(global);
  }
  opdyno.release(second);
  return 0;
}

// ---- all of them

std::string directory;

std::string build(const std::string &name, const std::string &source, const std::string &flags) {
  const std::string text = directory + "/" + name + ".c", path = directory + "/" + name + ".so";
  std::ofstream(text) << source;
  const char *cc = std::getenv("CC");
  const std::string command =
      std::string(cc && *cc ? cc : "cc") + " -O1 -shared -fPIC -o " + path + " " + text + " " + flags;
  if (std::system(command.c_str())) fail("cannot run: " + command);
  return path;
}

bool run_child(const char *program, const Situation &s, bool bind_now) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (bind_now) setenv("LD_BIND_NOW", "1", 1);
    else unsetenv("LD_BIND_NOW");
    execl(program, program, "--one", s.library.c_str(), s.scope.c_str(), s.tvm.c_str(), s.copy.c_str(),
          s.artifact.c_str(), s.stand_in.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) std::printf("    killed by signal %d\n", WTERMSIG(status));
  return status == 0;
}

int run_all(const char *program, const std::string &library) {
  directory = (std::filesystem::temp_directory_path() / "opdyno-matrix-XXXXXX").string();
  if (!mkdtemp(directory.data())) fail("no directory for artifacts");
  const std::string kernels = kKernels, compiled = kernels + kCompiledMode;
  struct Kind {
    const char *name;
    const std::string &source;
    const char *flags;
  };
  const Kind kinds[] = {{"lazy", kernels, "-Wl,-z,lazy"},           {"now", kernels, "-Wl,-z,now -Wl,-z,relro"},
                        {"noplt", kernels, "-fno-plt -Wl,-z,lazy"}, {"noplt_now", kernels, "-fno-plt -Wl,-z,now"},
                        {"compiled", compiled, "-Wl,-z,lazy"},      {"compiled_now", compiled, "-Wl,-z,now"}};
  Situation s;
  s.library = library;
  s.stand_in = build("tvm", kStandIn, "-ldl");
  int failed = 0, run = 0;
  for (const auto &kind : kinds) {
    s.artifact = build(kind.name, kind.source, kind.flags);
    for (const char *copy : {"always", "shared"})
      for (const char *scope : {"local", "global"})
        for (const char *tvm : {"none", "before", "after"})
          for (const bool bind_now : {false, true}) {
            s.copy = copy, s.scope = scope, s.tvm = tvm;
            ++run;
            if (run_child(program, s, bind_now)) continue;
            ++failed;
            std::printf("FAILED: artifact %s, copy %s, opdyno %s, TVM %s%s\n", kind.name, copy, scope, tvm,
                        bind_now ? ", LD_BIND_NOW=1" : "");
          }
  }
  std::filesystem::remove_all(directory);
  std::printf("%d of %d situations failed\n", failed, run);
  return failed != 0;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 8 && !std::strcmp(argv[1], "--one"))
    return run_one({argv[2], argv[3], argv[4], argv[5], argv[6], argv[7]});
  if (argc == 2) return run_all(argv[0], argv[1]);
  std::fprintf(stderr, "usage: binding_matrix LIBOPDYNO\n");
  return 2;
}
