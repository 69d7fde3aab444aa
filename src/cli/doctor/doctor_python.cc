// Checks of the active Python: TVM and tvm-ffi, and whether their artifacts load here.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "cli/doctor/doctor.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// Reads the names of installed packages. It does not import TVM, because that takes seconds. It imports only modules
// that Python loads at its start, because the current directory may have a file with the name of another.
constexpr const char *kScript = R"(
import sys, os
def tell(*words): sys.stdout.write('\t'.join(words).replace('\n', ' ') + '\n')
tell('python', '.'.join(map(str, sys.version_info[:3])))
wanted = ('apache_tvm', 'apache_tvm_ffi', 'tvm', 'tvm_ffi')
places = []
for place in sys.path:
    try: names = sorted(os.listdir(place))
    except OSError: continue
    for name in names:
        kind = name.rsplit('.', 1)[-1]
        if kind not in ('dist-info', 'egg-info'): continue
        package, _, version = name[:-len(kind) - 1].partition('-')
        package = package.lower().replace('-', '_').replace('.', '_')
        if package in wanted or package.startswith('mlc_ai'):
            tell('package', package, version.split('-')[0])
    for module in ('tvm', 'tvm_ffi'):
        if module in names and os.path.isfile(os.path.join(place, module, '__init__.py')): tell('module', module, place)
tell('end')
)";

constexpr std::string_view kTestedFfi = "0.1.15";  // docs/tvm-ffi.md

// Quotes a word for a shell's command line.
std::string quoted(const std::string &word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%=";
  if (word.find_first_not_of(plain) == word.npos) return word;
  return shell_quoted(word);
}

struct Packages {
  std::string python;                           // Python's version
  std::map<std::string, std::string> versions;  // by package
  std::map<std::string, std::string> places;    // by module
};

std::optional<Packages> parse(const std::string &text) {
  Packages found;
  bool has_end = false;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    std::vector<std::string> words(1);
    for (const char c : std::string_view(text).substr(begin, end - begin))
      if (c == '\t') words.emplace_back();
      else words.back() += c;
    for (std::string &word : words) word = shortened(printable(word), 100);
    if (has_end) return std::nullopt;
    if (words[0] == "python" && words.size() == 2) found.python = words[1];
    else if (words[0] == "package" && words.size() == 3) found.versions.emplace(words[1], words[2]);
    else if (words[0] == "module" && words.size() == 3) found.places.emplace(words[1], words[2]);
    else if (words[0] == "end" && words.size() == 1) has_end = true;
    else return std::nullopt;
  }
  if (!has_end || found.python.empty()) return std::nullopt;
  return found;
}

// "0.27" for "0.27.1.dev3"; "" if the version does not begin with two numbers.
std::string release_of(std::string_view version) {
  const size_t dot = version.find('.'),
               end = std::min(version.find_first_not_of("0123456789", dot + 1), version.size());
  if (dot == 0 || dot == version.npos || end == dot + 1 || version.find_first_not_of("0123456789") != dot) return "";
  return std::string(version.substr(0, end));
}

// Whether release a is older than b.
bool is_older(const std::string &a, const std::string &b) {
  const auto number = [](const std::string &release, bool second) {
    const size_t dot = release.find('.');
    return read_int(second ? release.substr(dot + 1) : release.substr(0, dot)).value_or(INT64_MAX);
  };
  return std::pair(number(a, false), number(a, true)) < std::pair(number(b, false), number(b, true));
}

Check judge_tvm(const std::string &python, const Packages &found, const std::vector<std::string> &loaded,
                const std::vector<std::string> &tested) {
  std::string package, version;
  for (const auto &[name, number] : found.versions)
    if (name == "apache_tvm" || name == "tvm" || name.starts_with("mlc_ai")) package = name, version = number;
  const std::string range = loaded.empty() ? "none" : cat(loaded.front(), " to ", loaded.back());
  const std::string install = cat(quoted(python), " -m pip install ");
  const std::string fitting = tested.empty() ? "" : cat(install, quoted(cat("apache-tvm==", tested.back(), ".*")));
  if (package.empty()) {
    if (const auto place = found.places.find("tvm"); place != found.places.end())
      return {"tvm", State::limited,
              cat("TVM in ", place->second, " does not tell its version; artifacts of ", range, " load here"), ""};
    return {"tvm", State::missing,
            cat("Python ", found.python, " (", python, ") has no TVM; running its artifacts needs none"), fitting};
  }
  std::ranges::replace(package, '_', '-');
  const std::string what = cat(package, " ", version, " in ", python), release = release_of(version);
  if (package.starts_with("mlc-ai") || release.empty())
    return {"tvm", State::limited,
            cat("which release of TVM ", what, " is cannot be told; artifacts of ", range, " load here"), fitting};
  if (std::ranges::count(tested, release)) return {"tvm", State::ok, cat("artifacts of ", what, " load here"), ""};
  if (std::ranges::count(loaded, release))
    return {"tvm", State::limited,
            cat("artifacts of ", what, " load here, but are not tested; those of ", join(tested, ", "), " are"), ""};
  if (!loaded.empty() && is_older(release, loaded.front()))
    return {"tvm", State::missing, cat("artifacts of ", what, " are refused here; those of ", range, " load"), fitting};
  return {
      "tvm", State::limited,
      cat(what, " is newer than this opdyno, so it is not known whether its artifacts load; those of ", range, " do"),
      fitting};
}

Check judge_ffi(const std::string &python, const Packages &found) {
  auto package = found.versions.find("apache_tvm_ffi");
  if (package == found.versions.end()) package = found.versions.find("tvm_ffi");
  const std::string install = cat(quoted(python), " -m pip install apache-tvm-ffi==", kTestedFfi);
  if (package == found.versions.end())
    return {"tvm-ffi", State::missing,
            cat("Python ", found.python, " (", python, ") has no apache-tvm-ffi; running its kernels needs none"),
            install};
  const std::string what = cat("apache-tvm-ffi ", package->second, " in ", python);
  if (package->second == kTestedFfi)
    return {"tvm-ffi", State::ok, cat("kernels of ", what, " load here, and libopdyno_tvmffi can replace its library"),
            ""};
  if (release_of(package->second) == "0.1")
    return {"tvm-ffi", State::limited,
            cat("kernels of ", what, " have the C interface of ", kTestedFfi, ", but only that release is tested"),
            install};
  return {"tvm-ffi", State::limited, cat("it is not known whether kernels of ", what, " load; those of 0.1 do"),
          install};
}

bool is_program(const std::string &path) { return access(path.c_str(), X_OK) == 0; }

}  // namespace

std::string active_python() {
  const char *environment = std::getenv("VIRTUAL_ENV"), *path = std::getenv("PATH");
  if (environment && *environment && is_program(cat(environment, "/bin/python")))
    return cat(environment, "/bin/python");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string place = cat(rest.substr(0, end), "/python3");
    if (end > 0 && rest[0] == '/' && is_program(place)) return place;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

Probe ask_python(const std::string &python) { return Probe::of_program({python, "-c", kScript}); }

Checks judge_python(const std::string &python, const Probe::Answer &answer, const std::vector<std::string> &loaded,
                    const std::vector<std::string> &tested) {
  const std::string shown = printable(python);
  const auto all = [](State state, const std::string &cause, const std::string &remedy) {
    return Checks{{"python", state, cause, remedy}, {"tvm", state, cause, ""}, {"tvm-ffi", state, cause, ""}};
  };
  if (python.empty()) return all(State::missing, "there is no python3 in PATH", "sudo apt install python3");
  if (!answer.is_whole) return all(State::limited, cat(shown, " ", answer.why), remedy_of(answer));
  const std::optional<Packages> found = parse(answer.text);
  if (!found) return all(State::limited, cat(shown, " does not answer as Python does"), "");
  return {{"python", State::ok, cat("Python ", found->python, " is ", shown), ""},
          judge_tvm(shown, *found, loaded, tested),
          judge_ffi(shown, *found)};
}

}  // namespace opd::cli
