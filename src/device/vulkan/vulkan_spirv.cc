#include "device/vulkan/vulkan_spirv.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "value/value.h"

namespace opd::vk {
namespace {

constexpr uint32_t kMagic = 0x07230203, kSwappedMagic = 0x03022307;
constexpr size_t kHeaderWords = 5;
constexpr uint32_t kMostIds = 0x3FFFFF;

enum Opcode : uint32_t {
  kOpMemoryModel = 14,
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeArray = 28,
  kOpTypeRuntimeArray = 29,
  kOpTypePointer = 32,
  kOpConstant = 43,
  kOpConstantComposite = 44,
  kOpFunction = 54,
  kOpFunctionEnd = 56,
  kOpVariable = 59,
  kOpDecorate = 71,
  kOpMemberDecorate = 72,
  kOpDecorationGroup = 73,
};
enum : uint32_t { kCompute = 5 };                             // execution models
enum : uint32_t { kLocalSize = 17 };                          // execution modes
enum : uint32_t { kLogical = 0, kGlsl450 = 1, kVulkan = 3 };  // addressing and memory models
enum Decoration : uint32_t { kBufferBlock = 3, kBuiltIn = 11, kBinding = 33, kSet = 34, kOffset = 35 };
enum : uint32_t { kWorkgroupSize = 25 };  // a built-in constant that overrides the execution mode
enum StorageClass : uint32_t { kConstants = 0, kUniformBlocks = 2, kPushConstants = 9, kStorageBuffers = 12 };

class Reader {
 public:
  Reader(std::span<const uint32_t> words, const std::string &entry, const std::string &what)
      : words_(words), entry_(entry), what_(what) {}

  ShaderFacts read() {
    read_header();
    for (position_ = kHeaderWords; position_ < words_.size();) {
      const uint32_t opcode = words_[position_] & 0xFFFF, count = words_[position_] >> 16;
      if (count == 0 || count > words_.size() - position_)
        bad(concat("an instruction of ", count, " words, where ", words_.size() - position_, " remain"));
      read_instruction(opcode, words_.subspan(position_ + 1, count - 1));
      position_ += count;
    }
    check_entry();
    for (const Variable &variable : variables_) read_variable(variable);
    return std::move(facts_);
  }

 private:
  using Operands = std::span<const uint32_t>;
  struct Variable {
    uint32_t id, type, storage;
    size_t position;
  };
  struct Interface {
    std::optional<uint32_t> set, binding;
  };

  [[noreturn]] void bad(std::string_view problem) const {
    fail(OPD_BAD_FORMAT, what_, ": the SPIR-V at word ", position_, " has ", problem);
  }

  void read_header() {
    if (words_.size() < kHeaderWords) bad(concat("only ", words_.size(), " words, fewer than its header's 5"));
    if (words_[0] == kSwappedMagic) bad("the byte order of another processor");
    if (words_[0] != kMagic) bad("no magic number of SPIR-V");
    facts_.version = words_[1];
    if ((facts_.version & 0xFF0000FF) || facts_.version < 0x10000) bad("no version of SPIR-V");
    if (words_[3] == 0 || words_[3] > kMostIds) bad(concat(words_[3], " as the bound of its ids"));
    if (words_[4] != 0) bad("a schema that is not 0");
  }

  uint32_t operand(Operands operands, size_t i) const {
    if (i >= operands.size()) bad("an instruction that is too short");
    return operands[i];
  }
  uint32_t id(Operands operands, size_t i) const {
    const uint32_t value = operand(operands, i);
    if (value == 0 || value >= words_[3]) bad(concat("the id ", value, ", where ids are below ", words_[3]));
    return value;
  }

  void read_instruction(uint32_t opcode, Operands operands) {
    switch (opcode) {
      case kOpCapability:
        return facts_.capabilities.push_back(operand(operands, 0));
      case kOpMemoryModel:
        return read_memory_model(operand(operands, 0), operand(operands, 1));
      case kOpEntryPoint:
        return read_entry_point(operands);
      case kOpExecutionMode:
        return read_execution_mode(operands);
      case kOpDecorate:
        return read_decoration(operands);
      case kOpMemberDecorate:
        return read_member_decoration(operands);
      case kOpDecorationGroup:
        bad("a group of decorations, which is not read");
      case kOpTypeArray:
      case kOpTypeRuntimeArray:
        return arrays_.push_back(id(operands, 0));
      case kOpTypePointer:
        pointers_[id(operands, 0)] = id(operands, 2);
        return;
      case kOpConstant:
        if (operands.size() == 3) constants_[id(operands, 1)] = operands[2];
        return;
      case kOpConstantComposite:
        composites_[id(operands, 1)] = operands.subspan(2);
        return;
      case kOpFunction:
        if (is_in_function_) bad("a function in a function");
        is_in_function_ = true;
        return functions_.push_back(id(operands, 1));
      case kOpFunctionEnd:
        is_in_function_ = false;
        return;
      case kOpVariable:
        return variables_.push_back({id(operands, 1), id(operands, 0), operand(operands, 2), position_});
      default:
        return;
    }
  }

  void read_memory_model(uint32_t addressing, uint32_t memory) const {
    if (addressing != kLogical || (memory != kGlsl450 && memory != kVulkan))
      bad(concat("addressing model ", addressing, " and memory model ", memory, ", which are not Vulkan's"));
  }

  // A literal string: bytes up to a 0, stored in words.
  std::string_view read_literal(Operands operands) const {
    const auto *text = reinterpret_cast<const char *>(operands.data());
    const size_t most = operands.size() * sizeof(uint32_t), length = ::strnlen(text, most);
    if (length == most) bad("a name without its end");
    return {text, length};
  }

  void read_entry_point(Operands operands) {
    const uint32_t model = operand(operands, 0), function = id(operands, 1);
    const std::string_view name = read_literal(operands.subspan(2));
    names_.emplace_back(name);
    if (name != entry_) return;
    if (model != kCompute)
      bad(concat("an entry point ", name, " that is not a kernel: its execution model is ", model));
    if (entry_function_) bad(concat("two entry points ", name));
    entry_function_ = function;
  }

  void read_execution_mode(Operands operands) {
    if (operand(operands, 1) != kLocalSize || id(operands, 0) != entry_function_) return;
    for (size_t i = 0; i < 3; ++i) {
      facts_.block[i] = operand(operands, 2 + i);
      if (facts_.block[i] == 0) bad("a block without threads");
    }
  }

  void read_decoration(Operands operands) {
    const uint32_t target = id(operands, 0);
    switch (operand(operands, 1)) {
      case kBinding:
        interfaces_[target].binding = operand(operands, 2);
        break;
      case kSet:
        interfaces_[target].set = operand(operands, 2);
        break;
      case kBufferBlock:
        storage_blocks_.push_back(target);
        break;
      case kBuiltIn:
        if (operand(operands, 2) == kWorkgroupSize) size_constant_ = target;
        break;
      default:
        break;
    }
  }

  void read_member_decoration(Operands operands) {
    if (operand(operands, 2) != kOffset) return;
    uint32_t &last = last_offsets_[id(operands, 0)];
    last = std::max(last, operand(operands, 3));
  }

  void check_entry() {
    position_ = words_.size();
    if (is_in_function_) bad("a function without its end");
    if (!entry_function_)
      fail(OPD_NOT_FOUND, what_, ": the SPIR-V has no entry point ", entry_, "; it has ",
           names_.empty() ? "none" : joined(names_));
    if (std::find(functions_.begin(), functions_.end(), entry_function_) == functions_.end())
      bad(concat("an entry point ", entry_, " without a function"));
    if (size_constant_) read_size_constant();
  }
  void read_size_constant() {
    facts_.block = {};
    const auto found = composites_.find(*size_constant_);
    if (found == composites_.end() || found->second.size() != 3) return;  // set when the kernel is compiled
    for (size_t i = 0; i < 3; ++i) {
      const auto size = constants_.find(found->second[i]);
      if (size == constants_.end() || size->second == 0) bad("a block without threads");
      facts_.block[i] = size->second;
    }
  }
  void read_variable(const Variable &variable) {
    position_ = variable.position;
    const auto pointer = pointers_.find(variable.type);
    if (pointer == pointers_.end()) bad("a variable whose type is not a pointer");
    const uint32_t type = pointer->second;
    const auto is_in = [type](const std::vector<uint32_t> &list) {
      return std::find(list.begin(), list.end(), type) != list.end();
    };
    switch (variable.storage) {
      case kConstants:
        bad("an image or a sampler, where kernels have buffers and scalars only");
      case kPushConstants:
        facts_.has_push_constants = true;
        facts_.last_push_offset = std::max(facts_.last_push_offset, last_offsets_[type]);
        return;
      case kUniformBlocks:
      case kStorageBuffers: {
        if (is_in(arrays_)) bad("an array of buffers, where an argument is one");
        const Interface &place = interfaces_[variable.id];
        if (place.set != 0 || !place.binding) bad("a buffer that is not in set 0");
        const bool is_storage = variable.storage == kStorageBuffers || is_in(storage_blocks_);
        (is_storage ? facts_.storage : facts_.uniform).push_back(*place.binding);
        return;
      }
      default:
        return;
    }
  }

  const std::span<const uint32_t> words_;
  const std::string &entry_, &what_;
  size_t position_ = 0;
  ShaderFacts facts_;
  std::optional<uint32_t> entry_function_;
  std::vector<std::string> names_;  // names of entry points
  std::vector<uint32_t> functions_, arrays_, storage_blocks_;
  std::map<uint32_t, uint32_t> pointers_;  // from a pointer type to the type it points at
  std::map<uint32_t, Interface> interfaces_;
  std::map<uint32_t, uint32_t> last_offsets_;
  std::vector<Variable> variables_;
  std::map<uint32_t, uint32_t> constants_;   // constants of 32 bits
  std::map<uint32_t, Operands> composites_;  // composite constants and their parts
  std::optional<uint32_t> size_constant_;
  bool is_in_function_ = false;
};

}  // namespace

ShaderFacts read_shader(std::span<const uint32_t> words, const std::string &entry, const std::string &what) {
  return Reader(words, entry, what).read();
}

}  // namespace opd::vk
