#include "harness.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>

namespace bench {
namespace {

struct Row {
  std::string name, unit;
  std::function<Sampler()> set_up;  // called at the first request; throws what is missing
  bool own_process;
};

Settings chosen;

std::vector<Row> &rows() {
  static std::vector<Row> all;
  return all;
}

std::vector<std::function<void()>> &later_rows() {
  static std::vector<std::function<void()>> all;
  return all;
}

const Row &find(const std::string &name) {
  for (const Row &row : rows())
    if (row.name == name) return row;
  throw std::runtime_error("there is no row " + name);
}

std::string self() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, size > 0 ? static_cast<size_t>(size) : 0);
}

std::string quoted(const std::string &text) { return "'" + text + "'"; }

// The answer of this program, run anew for one sample.
double sample_elsewhere(const Row &row) {
  const std::string command = quoted(self()) + " --once " + row.name + " --artifacts " + quoted(chosen.artifacts);
  const std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command.c_str(), "re"), pclose);
  char line[1000] = "";
  if (!pipe || !fgets(line, sizeof line, pipe.get()))
    throw std::runtime_error("the process of " + row.name + " ended without an answer");
  if (line[0] == '!') throw std::runtime_error(std::string(line + 2, strcspn(line + 2, "\n")));
  return atof(line);
}

double sample(const Row &row) {
  static std::map<std::string, Sampler> ready;
  if (row.own_process) return sample_elsewhere(row);
  Sampler &sampler = ready[row.name];
  if (!sampler) sampler = row.set_up();
  return sampler();
}

// Prints a sample, or "! " and why there is none; false if something failed.
bool answer(const std::string &name, const std::function<double(const Row &)> &measure) {
  try {
    std::printf("%.17g\n", measure(find(name)));
  } catch (const std::exception &error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::printf("! %s\n", text.c_str());
    return dynamic_cast<const Missing *>(&error) != nullptr;
  }
  return true;
}

// First a line "name unit" per row and an empty one; then a sample for every name that arrives.
int serve() {
  for (const Row &row : rows()) std::printf("%s %s\n", row.name.c_str(), row.unit.c_str());
  std::puts("");
  std::fflush(stdout);
  for (std::string name; std::getline(std::cin, name);) {
    answer(name, sample);
    std::fflush(stdout);
  }
  return 0;
}

int quick() {
  int failed = 0;
  for (const Row &row : rows()) {
    std::printf("%s (%s): ", row.name.c_str(), row.unit.c_str());
    std::fflush(stdout);
    failed += !answer(row.name, [](const Row &one) { return one.set_up()(); });
  }
  return failed != 0;
}

}  // namespace

const Settings &settings() { return chosen; }

AddRow::AddRow(std::string name, std::string unit, std::function<Sampler()> set_up) {
  rows().push_back({std::move(name), std::move(unit), std::move(set_up), false});
}
AddRows::AddRows(std::function<void()> add) { later_rows().push_back(std::move(add)); }
AddProcessRow::AddProcessRow(std::string name, std::string unit, Sampler sample) {
  rows().push_back({std::move(name), std::move(unit), [sample] { return sample; }, true});
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double nanoseconds(const std::function<void()> &action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

Sampler timed(double divisor, Loop loop) {
  return [=, count = int64_t{0}]() mutable {
    const auto batch = [&] { return nanoseconds([&] { loop(count); }); };
    if (chosen.quick) return loop(count = 1), batch() / divisor;
    if (count == 0) {
      loop(1);  // warm
      for (count = 1; batch() < 1e6; count *= 2) {}
      count *= 2;  // a lucky interruption must not make batches short for ever
      while (count > 1 && batch() > 4e6) count /= 2;
    }
    std::vector<double> times(5);
    for (double &time : times) time = batch() / static_cast<double>(count) / divisor;
    return median(times);
  };
}

std::string artifact(const std::string &name, const std::string &stand_in) {
  for (const std::string &candidate : {name, chosen.quick ? stand_in : std::string()}) {
    const std::string path = chosen.artifacts + "/" + candidate + ".so";
    if (!candidate.empty() && access(path.c_str(), R_OK) == 0) return path;
  }
  throw Missing(name + ".so is missing: tests/interop/generate.py makes it");
}

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " is missing");
  return {std::istreambuf_iterator<char>(file), {}};
}

double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return atof(line.c_str() + 6) / 1024;
  throw std::runtime_error("/proc/self/status has no VmHWM");
}

}  // namespace bench

int main(int argc, char **argv) {
  using namespace bench;
  std::string once;
  bool serving = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool more = i + 1 < argc;
    if (argument == "--serve") serving = true;
    else if (argument == "--quick") chosen.quick = true;
    else if (argument == "--once" && more) once = argv[++i];
    else if (argument == "--artifacts" && more) chosen.artifacts = argv[++i];
    else if (argument == "--programs" && more) chosen.programs = argv[++i];
    else
      return std::fprintf(stderr, "usage: %s --serve | --quick | --once ROW  [--artifacts DIR] [--programs DIR]\n",
                          argv[0]),
             2;
  }
  for (const auto &add : later_rows()) add();
  if (serving) return serve();
  if (!once.empty()) return answer(once, [](const Row &row) { return row.set_up()(); }) ? 0 : 1;
  chosen.quick = true;
  return quick();
}
