// What is read of a kernel in SPIR-V, and what is refused before a driver sees it. The kernels here are made word by
// word after the specification's layout of instructions.
#include "device/vulkan/vulkan_spirv.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "support/refusal.h"
#include "value/value.h"

namespace opd::vk {
namespace {

using Words = std::vector<uint32_t>;

Words literal(const std::string &text) {
  Words words(text.size() / 4 + 1);
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}
Words operator+(Words first, const Words &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
Words op(uint32_t code, const Words &operands) {
  return Words{static_cast<uint32_t>(operands.size() + 1) << 16 | code} + operands;
}

Words header(uint32_t bound = 100) { return {0x07230203, 0x10300, 0, bound, 0}; }
Words capability(uint32_t number) { return op(17, {number}); }
Words entry(uint32_t function, const std::string &name, uint32_t model = 5) {
  return op(15, Words{model, function} + literal(name));
}
Words block(uint32_t function, uint32_t x, uint32_t y, uint32_t z) { return op(16, {function, 17, x, y, z}); }
Words decorate(uint32_t target, uint32_t decoration, const Words &more = {}) {
  return op(71, Words{target, decoration} + more);
}
Words offset(uint32_t type, uint32_t member, uint32_t bytes) { return op(72, {type, member, 35, bytes}); }
// A variable `id` of a structure: its pointer has the next id, the structure the one after it.
Words variable(uint32_t id, uint32_t storage) {
  return op(30, {id + 2, 90}) + op(32, {id + 1, storage, id + 2}) + op(59, {id + 1, id, storage});
}
Words in_set(uint32_t id, uint32_t set, uint32_t binding) {
  return decorate(id, 34, {set}) + decorate(id, 33, {binding});
}
Words function(uint32_t id) { return op(54, {91, id, 0, 92}) + op(56, {}); }
const Words kModel = op(14, {0, 1});
Words kernel(const Words &before = {}, const Words &types = {}) {
  return header() + capability(1) + kModel + entry(1, "scale") + block(1, 32, 2, 1) + before + types + function(1);
}

ShaderFacts facts_of(const Words &words) { return read_shader(words, "scale", "m.so"); }
std::string spirv_refusal(const Words &words, opd_code code = OPD_BAD_FORMAT) {
  return refusal(code, [&] { facts_of(words); });
}
// Without the place, which the message has, too.
std::string problem(const Words &words) {
  const std::string text = spirv_refusal(words);
  const size_t place = text.find(" has ");
  EXPECT_TRUE(text.starts_with("m.so: the SPIR-V at word ")) << text;
  return place == std::string::npos ? text : text.substr(place + 5);
}

constexpr uint32_t kUniform = 2, kPush = 9, kStorage = 12;

TEST(Spirv, HasTheRequirementsOfTheKernel) {
  const ShaderFacts facts =
      facts_of(kernel(capability(11) + in_set(10, 0, 1) + in_set(20, 0, 0) + in_set(30, 0, 2) + decorate(22, 3) +
                          offset(42, 0, 0) + offset(42, 1, 24) + offset(42, 2, 8),
                      variable(10, kStorage) + variable(20, kUniform) + variable(30, kUniform) + variable(40, kPush)));
  EXPECT_EQ(facts.version, 0x10300u);
  EXPECT_EQ(facts.capabilities, (Words{1, 11}));
  EXPECT_EQ(facts.block, (std::array<uint32_t, 3>{32, 2, 1}));
  EXPECT_EQ(facts.storage, (Words{1, 0})) << "a buffer, and a block that is decorated as one";
  EXPECT_EQ(facts.uniform, (Words{2}));
  EXPECT_TRUE(facts.has_push_constants);
  EXPECT_EQ(facts.last_push_offset, 24u);
  EXPECT_FALSE(facts_of(kernel()).has_push_constants);
}

TEST(Spirv, HasABlockOfAConstantSize) {
  const Words size = decorate(50, 11, {25});
  const Words constants = op(43, {90, 51, 8}) + op(43, {90, 52, 4}) + op(43, {90, 53, 0});
  EXPECT_EQ(facts_of(kernel(size, constants + op(44, {91, 50, 51, 52, 51}))).block, (std::array<uint32_t, 3>{8, 4, 8}))
      << "which counts more than the execution mode";
  EXPECT_EQ(problem(kernel(size, constants + op(44, {91, 50, 51, 52, 53}))), "a block without threads");
  EXPECT_EQ(problem(kernel(size, constants + op(44, {91, 50, 51, 52, 60}))), "a block without threads");
  EXPECT_EQ(problem(kernel(size, constants + op(43, {90, 54, 8, 0}) + op(44, {91, 50, 51, 52, 54}))),
            "a block without threads")
      << "a constant of 64 bits";
  EXPECT_EQ(facts_of(kernel(size)).block, (std::array<uint32_t, 3>{})) << "one that is chosen later";
  EXPECT_EQ(facts_of(kernel(size, constants + op(44, {91, 50, 51, 52, 51, 52}))).block, (std::array<uint32_t, 3>{}));
  EXPECT_EQ(facts_of(kernel(decorate(50, 11, {28}))).block[0], 32u) << "another built-in value";
}

TEST(Spirv, HasABlockOfItsOwnEntryPoint) {
  const Words start = header() + entry(2, "other") + entry(1, "scale"), end = function(1) + function(2);
  EXPECT_EQ(facts_of(start + block(2, 7, 7, 7) + block(1, 3, 4, 5) + block(2, 9, 9, 9) + end).block,
            (std::array<uint32_t, 3>{3, 4, 5}));
  EXPECT_EQ(facts_of(start + op(16, {1, 18, 64, 1, 1}) + end).block, (std::array<uint32_t, 3>{})) << "a hint of a size";
  for (const Words &empty : {block(1, 0, 1, 1), block(1, 1, 0, 1), block(1, 1, 1, 0)})
    EXPECT_EQ(problem(start + empty + end), "a block without threads");
}

TEST(Spirv, HasTheMemoryModelsOfVulkan) {
  const auto with = [](uint32_t addressing, uint32_t memory) {
    return header() + op(14, {addressing, memory}) + entry(1, "scale") + block(1, 1, 1, 1) + function(1);
  };
  EXPECT_EQ(facts_of(with(0, 1)).block[0], 1u);
  EXPECT_EQ(facts_of(with(0, 3)).block[0], 1u);
  for (const auto &[addressing, memory] : {std::pair{1u, 1u}, {2u, 3u}, {0u, 0u}, {0u, 2u}})
    EXPECT_EQ(problem(with(addressing, memory)),
              concat("addressing model ", addressing, " and memory model ", memory, ", which are not Vulkan's"));
}

TEST(Spirv, HasPushedScalarsUpToTheLastMember) {
  const Words members = offset(42, 0, 16) + op(72, {42, 1, 24}) + offset(42, 1, 8) + offset(52, 0, 96);
  EXPECT_EQ(facts_of(kernel(members, variable(40, kPush))).last_push_offset, 16u)
      << "other decorations and other types tell nothing";
}

TEST(Spirv, IsRefusedForItsHeader) {
  EXPECT_EQ(problem({}), "only 0 words, fewer than its header's 5");
  EXPECT_EQ(problem({0x07230203, 0x10300, 0, 100}), "only 4 words, fewer than its header's 5");
  EXPECT_EQ(problem({0x03022307, 0, 0, 0, 0}), "the byte order of another processor");
  EXPECT_EQ(problem({1, 0x10300, 0, 100, 0}), "no magic number of SPIR-V");
  for (const uint32_t version : {0u, 0x900u, 0x10301u, 0x1010300u})
    EXPECT_EQ(problem({0x07230203, version, 0, 100, 0}), "no version of SPIR-V") << version;
  EXPECT_EQ(spirv_refusal({1, 0x10300, 0, 100, 0}), "m.so: the SPIR-V at word 0 has no magic number of SPIR-V");
  const Words rest = entry(1, "scale") + function(1);
  EXPECT_EQ(facts_of(Words{0x07230203, 0x10000, 0, 0x3FFFFF, 0} + rest).version, 0x10000u) << "the lowest";
  EXPECT_EQ(problem(header(0)), "0 as the bound of its ids");
  EXPECT_EQ(problem(header(0x400000)), "4194304 as the bound of its ids");
  EXPECT_EQ(problem({0x07230203, 0x10300, 0, 100, 1}), "a schema that is not 0");
}

TEST(Spirv, IsRefusedForInstructionsThatDoNotFit) {
  EXPECT_EQ(problem(header() + Words{0}), "an instruction of 0 words, where 1 remain");
  EXPECT_EQ(spirv_refusal(header() + capability(1) + Words{3u << 16 | 17, 1}),
            "m.so: the SPIR-V at word 7 has an instruction of 3 words, where 2 remain");
  EXPECT_EQ(problem(header() + op(17, {})), "an instruction that is too short");
  EXPECT_EQ(problem(header() + op(15, {5, 1})), "a name without its end");
  EXPECT_EQ(problem(header() + op(15, {5, 1, 0x61616161})), "a name without its end");
  EXPECT_EQ(problem(header() + entry(100, "scale")), "the id 100, where ids are below 100");
  EXPECT_EQ(problem(header() + entry(0, "scale")), "the id 0, where ids are below 100");
  EXPECT_EQ(facts_of(header() + entry(99, "scale") + function(99)).block, (std::array<uint32_t, 3>{}));
}

TEST(Spirv, IsRefusedForItsEntryPoint) {
  EXPECT_EQ(spirv_refusal(header() + kModel + function(1), OPD_NOT_FOUND),
            "m.so: the SPIR-V has no entry point scale; it has none");
  EXPECT_EQ(spirv_refusal(header() + entry(1, "main") + entry(2, "other") + function(1), OPD_NOT_FOUND),
            "m.so: the SPIR-V has no entry point scale; it has main, other");
  EXPECT_EQ(problem(header() + entry(1, "scale", 4)),
            "an entry point scale that is not a kernel: its execution model is 4");
  EXPECT_EQ(problem(kernel(entry(2, "scale"))), "two entry points scale");
  EXPECT_EQ(problem(header() + entry(1, "scale") + function(2)), "an entry point scale without a function");
  EXPECT_EQ(problem(kernel(op(54, {91, 2, 0, 92}))), "a function in a function");
  const Words open = kernel() + op(54, {91, 2, 0, 92});
  EXPECT_EQ(spirv_refusal(open), concat("m.so: the SPIR-V at word ", open.size(), " has a function without its end"));
  EXPECT_EQ(problem(header() + entry(1, "scale") + block(1, 4, 0, 1)), "a block without threads");
  EXPECT_EQ(problem(kernel(op(14, {2, 1}))), "addressing model 2 and memory model 1, which are not Vulkan's");
  EXPECT_EQ(problem(kernel(op(14, {0, 2}))), "addressing model 0 and memory model 2, which are not Vulkan's");
}

TEST(Spirv, IsRefusedForUnsupportedVariables) {
  EXPECT_EQ(problem(kernel({}, variable(10, 0))), "an image or a sampler, where kernels have buffers and scalars only");
  EXPECT_EQ(problem(kernel({}, variable(10, kStorage))), "a buffer that is not in set 0");
  EXPECT_EQ(problem(kernel(in_set(10, 1, 0), variable(10, kStorage))), "a buffer that is not in set 0");
  EXPECT_EQ(problem(kernel(decorate(10, 34, {0}), variable(10, kUniform))), "a buffer that is not in set 0");
  EXPECT_EQ(
      problem(kernel(in_set(10, 0, 0), op(28, {12, 90, 93}) + op(32, {11, kStorage, 12}) + op(59, {11, 10, kStorage}))),
      "an array of buffers, where an argument is one");
  EXPECT_EQ(problem(kernel({}, op(59, {11, 10, kStorage}))), "a variable whose type is not a pointer");
  const Words before = kernel();
  EXPECT_EQ(spirv_refusal(before + op(59, {11, 10, kStorage}) + op(19, {95})),
            concat("m.so: the SPIR-V at word ", before.size(), " has a variable whose type is not a pointer"));
  EXPECT_EQ(
      problem(kernel(in_set(10, 0, 0), op(29, {12, 90}) + op(32, {11, kStorage, 12}) + op(59, {11, 10, kStorage}))),
      "an array of buffers, where an argument is one");
  EXPECT_EQ(facts_of(kernel({}, variable(10, 1) + variable(20, 4))).storage, Words()) << "inputs and shared memory";
  EXPECT_EQ(problem(kernel(op(73, {50}))), "a group of decorations, which is not read");
}

// Any change of any word is accepted or refused, and nothing else happens: sanitizers see reads beyond the words.
TEST(Spirv, WithChangedWordsIsAcceptedOrRefused) {
  const Words good = kernel(in_set(10, 0, 0) + offset(42, 1, 24), variable(10, kStorage) + variable(40, kPush));
  std::mt19937 random(1);
  size_t refused = 0;
  for (size_t i = 0; i < good.size(); ++i)
    for (int n = 0; n < 64; ++n) {
      Words changed = good;
      changed[i] = n < 32 ? good[i] ^ 1u << n : static_cast<uint32_t>(random());
      try {
        facts_of(changed);
      } catch (const Exception &) { ++refused; }
    }
  EXPECT_GT(refused, good.size());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(facts_of(Words(good.begin(), good.begin() + static_cast<ptrdiff_t>(size))), Exception) << size;
}

}  // namespace
}  // namespace opd::vk
