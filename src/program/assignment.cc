// Definite assignment analysis: finds the instructions that may read a register before it is written.
#include "program/executable.h"

namespace opd {
namespace {

// number of bitset words; if exceeded, all reads are checked at run time
constexpr uint64_t kMaxWork = uint64_t{1} << 24;

class Analysis {
 public:
  Analysis(const Executable &x, const FunctionInfo &f)
      : x_(x),
        f_(f),
        size_(static_cast<size_t>(f.end - f.start)),
        width_(static_cast<size_t>(f.num_registers + 63) / 64) {}

  std::vector<bool> run() {
    std::vector<bool> unproved(size_, false);
    if (is_straight()) {
      Set written = arguments();
      for (size_t i = 0; i < size_; ++i) {
        unproved[i] = !reads_only(written, i);
        note_write(written, i);
      }
      return unproved;
    }
    if (uint64_t{size_} * width_ > kMaxWork) return std::vector<bool>(size_, true);
    solve();
    for (size_t i = 0; i < size_; ++i) unproved[i] = reached_[i] && !reads_only(at_[i], i);
    return unproved;
  }

 private:
  using Set = std::vector<uint64_t>;

  Instruction instruction(size_t i) const { return x_.instruction(static_cast<size_t>(f_.start) + i); }

  bool is_straight() const {
    for (size_t i = 0; i < size_; ++i) {
      const Opcode op = instruction(i).op;
      if (op == Opcode::kGoto || op == Opcode::kIf) return false;
    }
    return true;
  }

  Set arguments() const {
    Set set(width_, 0);
    for (int64_t i = 0; i < f_.num_args; ++i) set[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64);
    return set;
  }

  static bool holds(const Set &set, int64_t reg) {
    return reg >= kVoidRegister || (set[static_cast<size_t>(reg) / 64] >> (reg % 64) & 1);
  }

  bool reads_only(const Set &written, size_t i) const {
    const Instruction in = instruction(i);
    if (in.op == Opcode::kRet || in.op == Opcode::kIf) return holds(written, in.reg);
    for (const int64_t word : in.args)
      if (Operand{word}.kind() == Operand::kRegister && !holds(written, Operand{word}.value())) return false;
    return true;
  }

  void note_write(Set &written, size_t i) const {
    const Instruction in = instruction(i);
    if (in.op == Opcode::kCall && in.reg < kVoidRegister)
      written[static_cast<size_t>(in.reg) / 64] |= uint64_t{1} << (in.reg % 64);
  }

  // Forward data flow to the greatest fixed point. at_[i] has the registers that were written on every path to
  // instruction i.
  void solve() {
    at_.assign(size_, Set());
    reached_.assign(size_, false);
    std::vector<size_t> work;
    uint64_t budget = kMaxWork;
    const auto flow = [&](size_t to, const Set &written) {
      bool changed = !reached_[to];
      if (changed) {
        at_[to] = written;
        reached_[to] = true;
      } else {
        for (size_t w = 0; w < width_; ++w) {
          const uint64_t both = at_[to][w] & written[w];
          changed |= both != at_[to][w];
          at_[to][w] = both;
        }
      }
      if (changed) work.push_back(to);
    };
    flow(0, arguments());
    while (!work.empty()) {
      if (budget < width_ + 1) {  // A hostile graph. The analysis gives up, so every read is checked.
        for (size_t i = 0; i < size_; ++i) at_[i].assign(width_, 0), reached_[i] = true;
        return;
      }
      budget -= width_ + 1;
      const size_t i = work.back();
      work.pop_back();
      const Instruction in = instruction(i);
      Set written = at_[i];
      note_write(written, i);
      if (in.op == Opcode::kGoto || in.op == Opcode::kIf)
        flow(static_cast<size_t>(static_cast<int64_t>(i) + in.target), written);
      if ((in.op == Opcode::kCall || in.op == Opcode::kIf) && i + 1 < size_) flow(i + 1, written);
    }
  }

  const Executable &x_;
  const FunctionInfo &f_;
  const size_t size_, width_;
  std::vector<Set> at_;
  std::vector<bool> reached_;
};

}  // namespace

std::vector<bool> unproved_reads(const Executable &executable, const FunctionInfo &function) {
  return Analysis(executable, function).run();
}

}  // namespace opd
