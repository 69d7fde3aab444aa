// How deep objects may be nested in one another: 2000, whatever is asked of them, and any number beside each other.
#include <pthread.h>

#include "interop/tvm_ffi/globals.h"
#include "support/sanitizers.h"

using namespace tvm_ffi_test;
using opdyno_test::has_address_sanitizer;

namespace {

Value nested(int depth) {
  Value value = call("ffi.List", {});
  for (int i = 1; i < depth; ++i) value = call("ffi.List", {value});
  return value;
}
void unnest(Value value) {  // one by one: a destructor of all would need a deep stack
  while (value.raw.type != OPD_NONE) {
    const Value outer = value;
    value = call("ffi.ListSize", {outer}).raw.u.int64 ? call("ffi.ListGetItem", {outer, 0}) : Value();
    call("ffi.ListClear", {outer});
  }
}
std::string told(const char *function, const std::vector<Value> &args) {
  call(function, args);
  return last_error;
}

void expect_refused_from_2001_on() {
  const Value deep = nested(2000), other = nested(2000), deeper = nested(2001), other_deeper = nested(2001);
  const std::string reason = "objects are nested more than 2000 deep";
  struct Case {
    const char *function;
    bool takes_two;
    std::string error;
  };
  for (const auto &[function, takes_two, error] :
       {Case{"ffi.ReprPrint", false, "ValueError: " + reason},
        {"ffi.RecursiveHash", false, "ValueError: RecursiveHash: " + reason},
        {"ffi.DeepCopy", false, "ValueError: DeepCopy: " + reason},
        {"ffi.RecursiveEq", true, "ValueError: RecursiveCompare: " + reason},
        {"ffi.RecursiveLt", true, "ValueError: RecursiveCompare: " + reason}}) {
    const std::vector<Value> good{deep, other}, bad{deeper, other_deeper};
    EXPECT_EQ(told(function, {good.begin(), good.begin() + 1 + takes_two}), "") << function;
    EXPECT_EQ(told(function, {bad.begin(), bad.begin() + 1 + takes_two}), error) << function;
  }
  EXPECT_EQ(told("ffi.ToJSONGraph", {deep, {}}), "");
  EXPECT_EQ(told("ffi.ToJSONGraph", {deeper, {}}), "ValueError: " + reason);
  const auto graph = [](int depth) {
    std::string text = R"({"root_index":0,"nodes":[)";
    for (int i = 1; i < depth; ++i) text += R"({"type":"ffi.List","data":[)" + std::to_string(i) + "]},";
    return Value((text + R"({"type":"ffi.List","data":[]}]})").c_str());
  };
  const Value back = call("ffi.FromJSONGraphString", {graph(2000)});
  EXPECT_EQ(last_error, "");
  EXPECT_TRUE(call("ffi.RecursiveEq", {back, deep}).raw.u.int64);
  EXPECT_EQ(told("ffi.FromJSONGraphString", {graph(2001)}),
            "ValueError: Invalid JSON Object Graph: nodes are nested too deep");
  for (const Value &value : {deep, other, deeper, other_deeper, back}) unnest(value);
}

// With AddressSanitizer, code that is not optimised needs more than the stack of 8 MiB that is usual.
TEST(Nesting, IsRefusedFromADepthOf2001On) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, has_address_sanitizer() ? 256 << 20 : 8 << 20);
  pthread_t thread;
  const auto run = [](void *) -> void * { return expect_refused_from_2001_on(), nullptr; };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Nesting, DoesNotCountSiblings) {
  std::vector<Value> many;
  for (int i = 0; i < 2100; ++i) many.push_back(call("ffi.List", {i}));
  const Value wide = call("ffi.Array", many), copy = call("ffi.DeepCopy", {wide});
  EXPECT_EQ(last_error, "");
  for (const char *function : {"ffi.ReprPrint", "ffi.RecursiveHash", "ffi.json.Stringify"})
    EXPECT_EQ(told(function, {wide}), "") << function;
  EXPECT_TRUE(call("ffi.RecursiveEq", {wide, copy}).raw.u.int64);
  EXPECT_FALSE(call("ffi.RecursiveLt", {wide, copy}).raw.u.int64);
  EXPECT_EQ(last_error, "");
  const Value graph = call("ffi.ToJSONGraph", {wide, {}});
  EXPECT_EQ(last_error, "");
  const Value back = call("ffi.FromJSONGraph", {graph});
  EXPECT_EQ(last_error, "");
  EXPECT_TRUE(call("ffi.RecursiveEq", {wide, back}).raw.u.int64);
  EXPECT_EQ(repr(call("ffi.ContainerFindFirstNonCPUDevice", {wide})), "cpu:0");
  EXPECT_EQ(last_error, "");
}

}  // namespace
