// The memory planner: makes a second version of a function's code that keeps tensors from call to call.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "vm/program.h"

namespace opd {

// The planner looks at one basic block at a time, because a register's contents are then known without joining paths.
// Values that a later block might read are left unchanged. The planned code is a second version. Instruments use the
// first version, because they must see each instruction.
class Planner {
 public:
  explicit Planner(Program &program)
      : p_(program), current_(program.num_registers, kNone), nulled_(program.num_registers, kNone) {}

  void plan(Program::Func &function) {
    f_ = &function;
    candidates_.clear(), uses_.clear(), unread_.clear();
    find_blocks();
    for (size_t i = 0; i + 1 < blocks_.size(); ++i) scan(blocks_[i], blocks_[i + 1]);
    if (!settle()) return;
    place();
    emit();
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Use {  // a kernel's use of a tensor
    uint32_t candidate, pc, arg;
  };
  struct Candidate {  // a storage or a tensor, from its allocation to its end
    uint32_t made, end = kNone, killed = kNone;
    uint32_t storage = kNone;  // tensors: the candidate that is their storage
    uint32_t place = kNone;    // storages: their static buffer; tensors: their register
    // `good`: nothing found so far forbids a static buffer.
    bool is_tensor, good;
  };

  const Instr &at(uint32_t pc) const { return p_.code[pc]; }
  static bool jumps(Op op) { return op == Op::kGoto || op == Op::kIf; }
  // Relies on the order of Op: operations that write a register come first.
  static bool writes(Op op) { return op < Op::kForgetBorrowed; }

  void find_blocks() {
    blocks_ = {f_->start, f_->end};
    // One more than there are registers: discarded results go to void_register().
    writers_.assign(p_.num_registers + 1, 0);
    for (uint32_t i = 0; i < f_->num_args; ++i) writers_[i] = 1;
    for (uint32_t pc = f_->start; pc < f_->end; ++pc) {
      const Instr &instr = at(pc);
      if (writes(instr.op) && instr.op != Op::kNull) ++writers_[instr.reg];
      if (jumps(instr.op)) blocks_.push_back(static_cast<uint32_t>(pc + instr.offset));
      if (jumps(instr.op) || instr.op == Op::kRet) blocks_.push_back(pc + 1);
    }
    std::ranges::sort(blocks_);
    blocks_.erase(std::unique(blocks_.begin(), blocks_.end()), blocks_.end());
  }

  void scan(uint32_t begin, uint32_t end) {
    for (uint32_t pc = begin; pc < end; ++pc) {
      const Instr &instr = at(pc);
      uint32_t storage = kNone;
      switch (instr.op) {
        // Arguments are read before the result is written: an instruction may do both to one register.
        case Op::kKernel:
        case Op::kPacked:
        case Op::kProgram:
          for (uint32_t i = 0; i < instr.num_args; ++i) read(instr.arg_registers()[i], instr.op == Op::kKernel, pc, i);
          break;
        case Op::kTensor:
          storage = storage_at(instr.inline_args[0]);
          break;
        case Op::kRet:
        case Op::kIf:
          read(instr.reg, false);
          continue;
        case Op::kStorage:
        case Op::kNull:
          break;
        default:
          continue;
      }
      if (instr.reg != p_.void_register()) write(pc, instr, storage);
    }
    close(end, at(end - 1).op == Op::kRet);
  }

  // A kernel cannot keep a tensor unnoticed, because is_ready() checks this. Any other reader may keep it, so it rules
  // the candidate out.
  void read(uint32_t reg, bool by_kernel, uint32_t pc = 0, uint32_t arg = 0) {
    if (reg >= p_.num_registers) return;
    nulled_[reg] = kNone;  // the program reads the None, so it must be written
    const uint32_t found = current_[reg];
    if (found == kNone) return;
    if (by_kernel && candidates_[found].is_tensor) uses_.push_back({found, pc, arg});
    else candidates_[found].good = false;
  }

  // Returns the storage argument of alloc_tensor. If the register holds a tensor, the program must raise the same error
  // as without a plan. So the tensor must really be in the register.
  uint32_t storage_at(uint32_t reg) {
    if (reg >= p_.num_registers) return kNone;
    nulled_[reg] = kNone;
    const uint32_t found = current_[reg];
    if (found == kNone || !candidates_[found].is_tensor) return found;
    candidates_[found].good = false;
    return kNone;
  }

  void write(uint32_t pc, const Instr &instr, uint32_t storage) {
    touched_.push_back(instr.reg);
    settle_null(instr.reg);
    if (const uint32_t old = std::exchange(current_[instr.reg], kNone); old != kNone) {
      candidates_[old].end = pc;
      if (instr.op == Op::kNull) candidates_[old].killed = pc, nulled_[instr.reg] = old;
    }
    if (instr.op != Op::kTensor && instr.op != Op::kStorage) return;
    current_[instr.reg] = static_cast<uint32_t>(candidates_.size());
    Candidate fresh{};
    fresh.made = pc;
    fresh.is_tensor = instr.op == Op::kTensor;
    fresh.storage = storage;
    fresh.good = writers_[instr.reg] == 1;  // otherwise the write may have to drop another value
    candidates_.push_back(std::move(fresh));
  }

  // No instruction reads the None that the kill wrote, so the kill can be removed.
  void settle_null(uint32_t reg) {
    if (const uint32_t candidate = std::exchange(nulled_[reg], kNone); candidate != kNone) unread_.push_back(candidate);
  }

  // Ends a block. If the block returns, live candidates end with it. Otherwise later blocks may use them.
  void close(uint32_t end, bool returns) {
    for (const uint32_t reg : touched_) {
      if (returns) settle_null(reg);
      nulled_[reg] = kNone;
      const uint32_t open = std::exchange(current_[reg], kNone);
      if (open == kNone) continue;
      candidates_[open].end = end;
      candidates_[open].good &= returns;
    }
    touched_.clear();
  }

  // A tensor that does not fit makes alloc_tensor fail, so it keeps its instruction. The sum of offset and size may
  // wrap, so it is never computed.
  bool fits(const Candidate &tensor) const {
    const uint64_t room = p_.storage_kinds[at(candidates_[tensor.storage].made).size_class].bytes;
    const Instr &made = at(tensor.made);
    return made.shape->bytes <= room && made.bytes <= room - made.shape->bytes;
  }

  // Makes a storage with all its tensors a static buffer, or leaves it. Returns false if no storage became one.
  bool settle() {
    for (Candidate &c : candidates_) {
      if (!c.is_tensor || c.storage == kNone) continue;
      Candidate &storage = candidates_[c.storage];
      storage.good &= c.good && fits(c);
      storage.end = std::max(storage.end, c.end);
    }
    // A second pass, because any tensor of a storage may rule the storage out, even a later one.
    bool any = false;
    for (Candidate &c : candidates_)
      if (c.is_tensor) any |= c.good = c.storage != kNone && candidates_[c.storage].good;
    return any;
  }

  // Linear scan: storages of one size whose lifetimes do not overlap share a place. The scan needs the candidates in
  // the order of their allocations, which is the order of scan(). It takes the place whose storage ends first, so it
  // adds a place only if none is free. Functions share places, because a frame runs one function at a time: each
  // function starts with all places free.
  void place() {
    using Free = std::pair<uint32_t, uint32_t>;  // end of the place's last storage, place
    std::vector<std::priority_queue<Free, std::vector<Free>, std::greater<Free>>> free(p_.storage_kinds.size());
    for (uint32_t i = 0; i < p_.places.size(); ++i) free[p_.places[i].size_class].push({0, i});
    for (Candidate &c : candidates_) {
      if (c.is_tensor || !c.good) continue;
      const uint64_t size_class = at(c.made).size_class;
      auto &places = free[size_class];
      const bool is_new = places.empty() || places.top().first > c.made;
      if (is_new || places.top().first == 0) f_->static_bytes += p_.storage_kinds[size_class].bytes;
      if (is_new) {
        c.place = static_cast<uint32_t>(p_.places.size());
        p_.places.push_back({size_class, new_register(), {}});
      } else {
        c.place = places.top().second;
        places.pop();
      }
      places.push({c.end, c.place});
      f_->places.push_back(c.place);
    }
    std::sort(f_->places.begin(), f_->places.end());
  }

  uint32_t new_register() { return p_.first_static_buffer() + p_.num_static_buffer_registers++; }

  // Tensors of one place with the same shape and offset are one object, which the frame makes once and keeps.
  uint32_t cell_of(const Candidate &tensor) {
    const uint32_t place = candidates_[tensor.storage].place;
    auto &tensors = p_.places[place].tensors;
    const Instr &made = at(tensor.made);
    constexpr size_t kFew = 8;  // a linear search is faster for a few tensors
    for (size_t i = 0; i < std::min(tensors.size(), kFew); ++i)
      if (tensors[i].shape == made.shape && tensors[i].offset == made.bytes) return tensors[i].reg;
    // Larger counts use a map: a damaged program may have thousands of tensors in one storage, which would take
    // quadratic time.
    uint32_t few = 0;
    uint32_t &reg = tensors.size() < kFew ? few : registers_[{place, made.shape->id, made.bytes}];
    if (reg) return reg;
    reg = new_register();
    tensors.push_back({made.shape, made.bytes, reg});
    return reg;
  }

  void emit() {
    const uint32_t count = f_->end - f_->start;
    std::vector<Instr> planned(p_.code.begin() + f_->start, p_.code.begin() + f_->end);
    std::vector<bool> gone(count, false);
    // Some arguments get other registers. The first version needs its own, so the lists are copied.
    for (Instr &instr : planned)
      if (instr.num_args > 2) {
        auto &copy = p_.planned_args_.emplace_back(std::make_unique_for_overwrite<uint32_t[]>(instr.num_args));
        std::copy_n(instr.args, instr.num_args, copy.get());
        instr.args = copy.get();
      }
    for (Candidate &c : candidates_) {
      if (!c.good) continue;
      Instr &made = planned[c.made - f_->start];
      if (c.is_tensor) {
        gone[c.made - f_->start] = true;
        c.place = cell_of(c);
      } else {
        made.op = Op::kStaticBuffer;
        made.place = c.place;
      }
    }
    for (const Use &use : uses_) {
      if (!candidates_[use.candidate].good) continue;
      Instr &kernel = planned[use.pc - f_->start];
      (kernel.num_args <= 2 ? kernel.inline_args : const_cast<uint32_t *>(kernel.args))[use.arg] =
          candidates_[use.candidate].place;
    }
    // Kills must come last, because a kill is removed only if its tensor or storage is planned.
    for (const uint32_t i : unread_)
      if (candidates_[i].good) gone[candidates_[i].killed - f_->start] = true;
    append(planned, gone);
  }

  // If a jump's target was removed, the jump leads to the next remaining instruction. A block begins at each target of
  // a jump and ends at each jump, so no planned lifetime crosses one.
  void append(std::vector<Instr> &planned, const std::vector<bool> &gone) {
    std::vector<uint32_t> moved(planned.size() + 1, 0);  // new index of each instruction, or of the next remaining one
    for (size_t i = 0; i < planned.size(); ++i) moved[i + 1] = moved[i] + !gone[i];
    f_->planned_start = static_cast<uint32_t>(p_.code.size());
    p_.code.reserve(p_.code.size() + moved.back());
    for (size_t i = 0; i < planned.size(); ++i) {
      if (gone[i]) continue;
      Instr &instr = planned[i];
      if (jumps(instr.op))
        instr.offset = int64_t{moved[static_cast<size_t>(static_cast<int64_t>(i) + instr.offset)]} - moved[i];
      p_.code.push_back(instr);
      // Messages and profiles name the executable's instruction, so each planned one keeps its index.
      p_.planned_from.push_back(f_->start + static_cast<uint32_t>(i));
    }
  }

  Program &p_;
  // registers of tensors, by place, shape and offset
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, uint32_t> registers_;

  // State of the function being planned.
  Program::Func *f_ = nullptr;
  std::vector<uint32_t> blocks_;   // block starts, then the end
  std::vector<uint32_t> writers_;  // per register
  std::vector<Candidate> candidates_;
  std::vector<Use> uses_;
  std::vector<uint32_t> unread_;  // candidates whose kill can be removed

  // State of the block being scanned.
  std::vector<uint32_t> current_, nulled_;  // by register: its candidate; the candidate whose kill wrote an unread None
  std::vector<uint32_t> touched_;           // registers
};

// Compiled functions have no instructions, and packed functions are not part of the program.
void plan(Program &program) {
  Planner planner(program);
  for (auto &function : program.functions)
    if (function.info && function.info->kind == FunctionKind::kBytecode && function.start < function.end)
      planner.plan(function);
}

}  // namespace opd
