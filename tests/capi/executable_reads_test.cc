// Reads of registers that some path has not written, compared with a plain computation of them.
#include <random>
#include <set>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

struct Step {
  enum Kind { kCall, kIf, kGoto, kRet } kind = kCall;
  std::vector<int> reads;
  int writes = -1;    // -1: nothing
  size_t target = 0;  // of kIf and kGoto
};
struct Program {
  int num_params = 0, num_registers = 0;
  std::vector<Step> steps;

  std::string text() const {
    std::string out = ".func main(";
    for (int i = 0; i < num_params; ++i) out += (i ? ", p" : "p") + std::to_string(i);
    out += ") regs=" + std::to_string(num_registers) + " {\n";
    const auto name = [this](int reg) { return (reg < num_params ? "%p" : "%") + std::to_string(reg); };
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step &step = steps[i];
      const std::string label = "L" + std::to_string(step.target);
      out += "L" + std::to_string(i) + ":\n  ";
      if (step.kind == Step::kIf) out += "if " + name(step.reads[0]) + " else " + label;
      if (step.kind == Step::kGoto) out += "goto " + label;
      if (step.kind == Step::kRet) out += "ret " + name(step.reads[0]);
      if (step.kind == Step::kCall) {
        if (step.writes >= 0) out += name(step.writes) + " = ";
        out += "call f(";
        for (size_t a = 0; a < step.reads.size(); ++a) out += (a ? ", " : "") + name(step.reads[a]);
        out += ")";
      }
      out += "\n";
    }
    return out + "}\n";
  }

  // The registers that every path to a step has written, by repeated passes over all edges until nothing changes.
  std::vector<size_t> unproved() const {
    std::vector<std::set<int>> written(steps.size());
    std::vector<bool> is_reached(steps.size());
    const auto flow = [&](size_t to, const std::set<int> &from) {
      std::set<int> both;
      for (const int reg : from)
        if (!is_reached[to] || written[to].count(reg)) both.insert(reg);
      const bool changes = !is_reached[to] || both != written[to];
      written[to] = both, is_reached[to] = true;
      return changes;
    };
    std::set<int> params;
    for (int i = 0; i < num_params; ++i) params.insert(i);
    flow(0, params);
    for (bool changes = true; changes;) {
      changes = false;
      for (size_t i = 0; i < steps.size(); ++i) {
        if (!is_reached[i]) continue;
        const Step &step = steps[i];
        std::set<int> after = written[i];
        if (step.writes >= 0) after.insert(step.writes);
        if (step.kind == Step::kIf || step.kind == Step::kGoto) changes |= flow(step.target, after);
        if (step.kind == Step::kIf || step.kind == Step::kCall) changes |= flow(i + 1, after);
      }
    }
    std::vector<size_t> out;
    for (size_t i = 0; i < steps.size(); ++i)
      for (const int reg : steps[i].reads)
        if (is_reached[i] && !written[i].count(reg)) {
          out.push_back(i);
          break;
        }
    return out;
  }
};

Program random_program(std::mt19937 &random, bool has_jumps) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Program program;
  program.num_params = static_cast<int>(below(4)) * 22;                          // 0, 22, 44 or 66 of
  program.num_registers = program.num_params + 1 + static_cast<int>(below(70));  // up to 136
  const auto reg = [&] {  // mostly one of a few, so that some are written before they are read
    const auto last = static_cast<size_t>(program.num_registers);
    return static_cast<int>(below(4) ? last - 1 - below(std::min<size_t>(4, last)) : below(last));
  };
  const size_t size = 4 + below(12);
  for (size_t i = 0; i + 1 < size; ++i) {
    Step step;
    const size_t kind = has_jumps ? below(6) : 0;
    if (kind == 4 && i + 2 < size) {
      step.kind = Step::kIf, step.reads = {reg()}, step.target = i + 2 + below(size - i - 2);
    } else if (kind == 5) {
      step.kind = Step::kGoto, step.target = below(size);
    } else {
      for (size_t n = below(3); n > 0; --n) step.reads.push_back(reg());
      if (below(4)) step.writes = reg();
    }
    program.steps.push_back(step);
  }
  Step last;
  last.kind = Step::kRet, last.reads = {reg()};
  program.steps.push_back(last);
  return program;
}

std::string told(const std::string &program) {
  const std::string json = Executable::assemble(program).write(OPD_EXECUTABLE_JSON);
  const size_t begin = json.find("\"unproved_reads\":") + 17;
  return json.substr(begin, json.find(']', begin) + 1 - begin);
}

}  // namespace

TEST(ExecutableReads, AreProvedIfEachPathHasWrittenTheRegister) {
  std::mt19937 random(7);
  size_t proved = 0, unproved = 0;
  for (int round = 0; round < 600; ++round) {
    const Program program = random_program(random, round % 4 != 0);
    std::string expected;
    for (const size_t step : program.unproved()) expected += (expected.empty() ? "" : ",") + std::to_string(step);
    (expected.empty() ? proved : unproved) += 1;
    ASSERT_EQ(told(program.text()), "[" + expected + "]") << program.text();
  }
  EXPECT_GT(proved, 20u);
  EXPECT_GT(unproved, 50u);
}

TEST(ExecutableReads, VmAndVoidNeedNoWriteBefore) {
  EXPECT_EQ(told(".func main() {\n  call f(%vm, %void, 1, \"text\", @main)\n  ret %void\n}\n"), "[]");
  EXPECT_EQ(told(".func main() regs=1 {\nagain:\n  call f(%vm, %void)\n  call f(%0)\n  goto again\n}\n"), "[1]");
  EXPECT_EQ(told(".func main(x) {\n  if %x else b\n  call f()\nb:\n  ret %vm\n}\n"), "[]");
}
