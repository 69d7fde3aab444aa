// What tvm-ffi's functions make of the content of values: JSON text, graphs, orders, hashes, copies, conversions. JSON
// is that of RFC 8259, with NaN and Infinity as Python has them.
#include <cmath>
#include <limits>

#include "interop/tvm_ffi/globals.h"

using namespace tvm_ffi_test;

namespace {

Value truth(bool value) {
  return raw(OPD_BOOL, [value](opd_value &v) { v.u.int64 = value; });
}
Value dtype(const char *name) {
  return raw(OPD_DTYPE, [name](opd_value &v) { EXPECT_EQ(opd_dtype_from_string(name, &v.u.dtype), nullptr); });
}
Value device(DLDeviceType type, int32_t id) {
  return raw(OPD_DEVICE, [=](opd_value &v) { v.u.device = {type, id}; });
}
template <class... Items>
Value list(const Items &...items) {
  return call("ffi.List", {Value(items)...});
}
template <class... Items>
Value array(const Items &...items) {
  return call("ffi.Array", {Value(items)...});
}
template <class... Items>
Value map(const Items &...items) {
  return call("ffi.Map", {Value(items)...});
}
std::string parsed(const char *json) {
  const Value value = call("ffi.json.Parse", {json});
  return last_error.empty() ? repr(value) : last_error;
}
std::string written(const Value &value) {
  const Value json = call("ffi.json.Stringify", {value});
  return last_error.empty() ? text(json) : last_error;
}

TEST(Json, IsReadWithAllItsForms) {
  EXPECT_EQ(parsed(" [ 1 ,\t-2 ,\n 3.5 ,\r 1e3, -1.5E-1, 0, -0 ] "), "(1, -2, 3.5, 1000, -0.15, 0, 0)");
  EXPECT_EQ(parsed(R"([null, true, false])"), "(None, True, False)");
  EXPECT_EQ(parsed("[]"), "()");
  EXPECT_EQ(parsed("[ ]"), "()");
  EXPECT_EQ(parsed("{ }"), "{}");
  EXPECT_EQ(parsed(R"({"a" : {"b" : [ {} ]}, "c":1})"), R"({"a": {"b": ({},)}, "c": 1})");
  EXPECT_EQ(parsed("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(parsed("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(parsed("9223372036854775808"), "9.22337e+18") << "more than 64 bits hold";
  EXPECT_TRUE(std::isnan(call("ffi.json.Parse", {"NaN"}).raw.u.float64));
  EXPECT_EQ(call("ffi.json.Parse", {"Infinity"}).raw.u.float64, INFINITY);
  EXPECT_EQ(call("ffi.json.Parse", {"-Infinity"}).raw.u.float64, -INFINITY);
  EXPECT_EQ(call("ffi.json.Parse", {"1.0"}).raw.type, OPD_FLOAT);
  EXPECT_EQ(call("ffi.json.Parse", {"1"}).raw.type, OPD_INT);
  EXPECT_EQ(text(call("ffi.json.Parse", {R"("\"\\\/\b\f\n\r\t")"})), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text(call("ffi.json.Parse", {R"("\u0041\u007f\u0080\u07FF\u0800\uffff\uD800\udc00\uDBFF\uDFFF")"})),
            "A\x7f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff");
}

TEST(Json, IsRefusedWithTheOffsetOfTheError) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "ends too early at offset 0"},
      {"  ", "ends too early at offset 2"},
      {"[1,", "ends too early at offset 3"},
      {"[1 2]", "lacks a , or a ] at offset 3"},
      {"[1", "lacks a , or a ] at offset 2"},
      {"{\"a\":1 2}", "lacks a , or a } at offset 7"},
      {"{a:1}", "lacks a name at offset 1"},
      {"{\"a\":1,", "lacks a name at offset 7"},
      {"{\"a\" 1}", "lacks a : at offset 5"},
      {"[1] 2", "is followed by more at offset 4"},
      {"\"a", "ends in a string at offset 2"},
      {"\"a\\", "ends too early at offset 3"},
      {"\"\\x\"", "has an unknown escape at offset 3"},
      {"\"\\u12\"", "has no four hexadecimal digits at offset 3"},
      {"\"\\u12g4\"", "has no four hexadecimal digits at offset 3"},
      {"\"\\ud800x\"", "has half a pair of characters at offset 7"},
      {"\"\\ud800\\u0041\"", "has half a pair of characters at offset 13"},
      {"\"\\ud800\\udbff\"", "has half a pair of characters at offset 13"},
      {"\"\\ud800\\ue000\"", "has half a pair of characters at offset 13"},
      {"\"\\udc00\"", "has half a pair of characters at offset 7"},
      {"\"a\nb\"", "has a control character in a string at offset 2"},
      {"nul", "has no value at offset 0"},
      {"1.2.3", "has no value at offset 0"},
      {"+", "has no value at offset 0"},
      {"[1,x]", "has no value at offset 3"}};
  for (const auto &[json, message] : cases)
    EXPECT_EQ(parsed(json), std::string("ValueError: JSON text ") + message) << json;
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(parsed(nested(1000).c_str()).find("Error"), std::string::npos);
  EXPECT_EQ(parsed(nested(1001).c_str()), "ValueError: JSON text is nested more than 1000 deep at offset 1000");
}

TEST(Json, IsWrittenAsItIsRead) {
  EXPECT_EQ(written(list(1, -2, Value(), truth(true), truth(false), "a")), R"([1,-2,null,true,false,"a"])");
  EXPECT_EQ(written(list(1.0, 0.1, 1e300, -0.0, 1e16)), "[1.0,0.1,1e+300,-0.0,1e+16]") << "floats stay floats";
  EXPECT_EQ(written(list(std::nan(""), INFINITY, -INFINITY)), "[NaN,Infinity,-Infinity]");
  EXPECT_EQ(written("\"\\/\b\f\n\r\t\x01\x1f\x7f ~\u00e9"), R"("\"\\\/\b\f\n\r\t\u0001\u001f\u007f ~é")");
  EXPECT_EQ(written(map("b", 1, "a", array())), R"({"b":1,"a":[]})");
  EXPECT_EQ(written(map()), "{}");
  EXPECT_EQ(written(map(1, 2)), "TypeError: the name of a member in JSON text must be a string, but is int");
  EXPECT_EQ(written(call("ffi.Shape", {1})), "TypeError: JSON text cannot hold a value of type ffi.Shape");
  const auto indented = [](const Value &value, const Value &indent) {
    return text(call("ffi.json.Stringify", {value, indent}));
  };
  const Value value = map("a", list(1, map("b", 2)), "c", list());
  EXPECT_EQ(indented(value, 2), "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n  \"c\": []\n}");
  EXPECT_EQ(indented(list(1), 64), "[\n" + std::string(64, ' ') + "1\n]");
  EXPECT_EQ(indented(list(1, 2), 0), "[1,2]");
  EXPECT_EQ(indented(list(1, 2), {}), "[1,2]");
  for (const int64_t bad : {-1, 65}) {
    call("ffi.json.Stringify", {list(), bad});
    EXPECT_EQ(last_error, "ValueError: an indent of " + std::to_string(bad) + " is none of 0 to 64");
  }
  for (const std::vector<Value> &args : {std::vector<Value>{}, std::vector<Value>{1, 2, 3}}) {
    call("ffi.json.Stringify", args);
    EXPECT_EQ(last_error, "ValueError: ffi.json.Stringify takes a value, and an indent");
  }
  const auto nested = [](int depth) {
    Value value = list();
    for (int i = 1; i < depth; ++i) value = list(value);
    return value;
  };
  EXPECT_EQ(written(nested(1000)).size(), 2000u);
  EXPECT_EQ(written(nested(1001)), "ValueError: JSON text cannot hold values nested more than 1000 deep");
}

std::string decoded(const std::string &graph) {
  const Value value = call("ffi.FromJSONGraphString", {graph.c_str()});
  return last_error.empty() ? repr(value) : last_error;
}

// The numbers of nodes are in the order in which their parts are complete.
TEST(Graphs, HaveEachValueOnce) {
  const Value twice = array(7);
  EXPECT_EQ(graph_of(list(twice, "t", twice, 7)),
            R"({"root_index":3,"nodes":[{"type":"int","data":7},{"type":"ffi.Array","data":[0]},)"
            R"({"type":"ffi.String","data":"t"},{"type":"ffi.List","data":[1,2,1,0]}]})");
  EXPECT_EQ(graph_of(map("a", Value())), R"({"root_index":2,"nodes":[{"type":"ffi.String","data":"a"},{"type":"None"},)"
                                         R"({"type":"ffi.Map","data":[0,1]}]})");
  EXPECT_EQ(graph_of(1.5), R"({"root_index":0,"nodes":[{"type":"float","data":1.5}]})");
  EXPECT_EQ(graph_of(truth(true)), R"({"root_index":0,"nodes":[{"type":"bool","data":true}]})");
  EXPECT_EQ(graph_of(dtype("int8x4")), R"({"root_index":0,"nodes":[{"type":"DataType","data":"int8x4"}]})");
  EXPECT_EQ(graph_of(device(kDLCUDA, 3)), R"({"root_index":0,"nodes":[{"type":"Device","data":[2,3]}]})");
  EXPECT_EQ(graph_of(call("ffi.Shape", {2, 3})), R"({"root_index":0,"nodes":[{"type":"ffi.Shape","data":[2,3]}]})");
  const Value with_metadata = call("ffi.ToJSONGraph", {1, map("version", "x")});
  EXPECT_EQ(repr(with_metadata),
            R"({"root_index": 0, "nodes": ({"type": "int", "data": 1},), "metadata": {"version": "x"}})");
  const Value circle = list();
  call("ffi.ListAppend", {circle, circle});
  EXPECT_EQ(graph_of(circle), "ValueError: Cycle detected during serialization: a List contains itself");
  call("ffi.ListClear", {circle});
  const Value dict = call("ffi.Dict", {});
  call("ffi.DictSetItem", {dict, 1, dict});
  EXPECT_EQ(graph_of(dict), "ValueError: Cycle detected during serialization: a Dict contains itself");
  call("ffi.DictClear", {dict});
  EXPECT_EQ(graph_of(raw(OPD_POINTER, [](opd_value &v) { v.u.pointer = &last_error; })),
            "RuntimeError: Cannot serialize type `void*`");
}

// RFC 4648, section 10; short and long bytes.
TEST(Graphs, HaveBytesInBase64) {
  const std::pair<const char *, const char *> known[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xfb\xff\xbe", "+/++"}};
  for (const auto &[bytes, base64] : known) {
    const Value value = call("ffi.Bytes", {bytes});
    std::string escaped;  // JSON has \/ for /
    for (const char *c = base64; *c; ++c) escaped += *c == '/' ? "\\/" : std::string(1, *c);
    EXPECT_EQ(graph_of(value),
              std::string(R"({"root_index":0,"nodes":[{"type":"ffi.Bytes","data":")") + escaped + "\"}]}");
    EXPECT_EQ(decoded(std::string(R"({"root_index":0,"nodes":[{"type":"ffi.Bytes","data":")") + base64 + "\"}]}"),
              repr(value));
  }
  EXPECT_EQ(decoded(R"({"root_index":0,"nodes":[{"type":"ffi.Bytes","data":"Zm9!"}]})"),
            "ValueError: bytes in JSON text are not in base 64");
}

TEST(Graphs, ComeBackAsTheyWere) {
  const Value twice = array(7, 1.5);
  const Value all = list(twice, twice, map("a", list()), call("ffi.Dict", {"k", Value(), 2, "v"}), dtype("bool"),
                         device(kDLCPU, 1), truth(false), call("ffi.Shape", {}),
                         call("ffi.Bytes", {"long enough bytes"}), "a text that is longer than seven bytes");
  const Value back = call("ffi.FromJSONGraph", {call("ffi.ToJSONGraph", {all, {}})});
  EXPECT_EQ(repr(back), repr(all)) << last_error;
  EXPECT_EQ(call("ffi.ListGetItem", {back, 0}).raw.u.object, call("ffi.ListGetItem", {back, 1}).raw.u.object);
}

TEST(Graphs, AreRefusedIfMalformed) {
  const std::string invalid = "ValueError: Invalid JSON Object Graph";
  const std::pair<const char *, std::string> cases[] = {
      {"[]", invalid + ", expected an object"},
      {R"({"nodes":[]})", invalid + ", expected `root_index` integer field"},
      {R"({"root_index":"0","nodes":[]})", invalid + ", expected `root_index` integer field"},
      {R"({"root_index":0})", invalid + ", expected `nodes` array field"},
      {R"({"root_index":0,"nodes":{}})", invalid + ", expected `nodes` array field"},
      {R"({"root_index":0,"nodes":[]})", invalid + ": invalid node index 0"},
      {R"({"root_index":-1,"nodes":[{"type":"None"}]})", invalid + ": invalid node index -1"},
      {R"({"root_index":1,"nodes":[{"type":"None"}]})", invalid + ": invalid node index 1"},
      {R"({"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]})", invalid + ": node 0 contains itself"},
      {R"({"root_index":0,"nodes":[1]})", "TypeError: a node must be an object, but is int"},
      {R"({"root_index":0,"nodes":[{"data":1}]})", "KeyError: a node of a JSON Object Graph has no type"},
      {R"({"root_index":0,"nodes":[{"type":"none such"}]})", "RuntimeError: Cannot find type `none such`"},
      {R"({"root_index":0,"nodes":[{"type":"int"}]})", "KeyError: a node of type int has no data"},
      {R"({"root_index":0,"nodes":[{"type":"bool","data":1}]})",
       "TypeError: a value in a JSON Object Graph must be bool, but is int"},
      {R"({"root_index":0,"nodes":[{"type":"Device","data":[1]}]})",
       invalid + ": Device data must be an array of [device_type, device_id], got 1 element(s)"},
      {R"({"root_index":0,"nodes":[{"type":"Device","data":[1,2,3]}]})",
       invalid + ": Device data must be an array of [device_type, device_id], got 3 element(s)"},
      {R"({"root_index":0,"nodes":[{"type":"ffi.Map","data":[1]},{"type":"None"}]})",
       invalid + ": Map/Dict data must contain an even number of [key, value] entries, got 1"},
      {R"({"root_index":0,"nodes":[{"type":"ffi.Enum","data":"none"}]})",
       "RuntimeError: enum `ffi.Enum` has no member \"none\""}};
  for (const auto &[graph, message] : cases) EXPECT_EQ(decoded(graph), message) << graph;
  for (const char *kind : {"int", "float", "DataType", "ffi.String", "ffi.Shape", "ffi.Array"})
    EXPECT_NE(
        decoded(std::string(R"({"root_index":0,"nodes":[{"type":")") + kind + R"(","data":null}]})").find("Error"),
        std::string::npos)
        << kind;
  EXPECT_EQ(decoded(R"({"root_index":0,"nodes":[{"type":"None"}]})"), "None");
  EXPECT_EQ(decoded(R"({"root_index":0,"nodes":[{"type":"float","data":3}]})"), "3");
}

// "<", "=" or ">"; else the error.
std::string order(const Value &a, const Value &b) {
  const auto holds = [&](const char *name) { return call(name, {a, b}).raw.u.int64 != 0; };
  const bool less = holds("ffi.RecursiveLt");
  if (!last_error.empty()) return last_error;
  const bool greater = holds("ffi.RecursiveGt");
  EXPECT_EQ(holds("ffi.RecursiveLe"), !greater);
  EXPECT_EQ(holds("ffi.RecursiveGe"), !less);
  EXPECT_FALSE(less && greater);
  return less ? "<" : greater ? ">" : "=";
}
bool equal(const Value &a, const Value &b) {
  const bool are = call("ffi.RecursiveEq", {a, b}).raw.u.int64 != 0;
  EXPECT_EQ(last_error, "");
  return are;
}

TEST(ContentOrder, ComparesValuesByTheirContent) {
  const std::pair<Value, Value> ascending[] = {
      {Value(), 1},
      {1, 2},
      {-1, 1},
      {truth(false), truth(true)},
      {1.5, 2.5},
      {"a", "b"},
      {"a", "aa"},
      {"short", "shorter than nothing"},
      {call("ffi.Bytes", {"a"}), call("ffi.Bytes", {"b is longer than seven"})},
      {dtype("int8"), dtype("int16")},
      {dtype("int8"), dtype("int8x2")},
      {dtype("int64"), dtype("uint8")},
      {device(kDLCPU, 5), device(kDLCUDA, 0)},
      {device(kDLCPU, 0), device(kDLCPU, 1)},
      {list(1, 2), list(1, 3)},
      {list(1), list(1, 0)},
      {list(), list(1)},
      {array(1, list("a")), array(1, list("b"))},
      {call("ffi.Shape", {1, 2}), call("ffi.Shape", {1, 3})},
      {call("ffi.Shape", {1}), call("ffi.Shape", {1, 0})}};
  for (const auto &[a, b] : ascending) {
    EXPECT_EQ(order(a, b), "<") << repr(a) << " and " << repr(b);
    EXPECT_EQ(order(b, a), ">") << repr(a) << " and " << repr(b);
    EXPECT_EQ(order(a, a), "=") << repr(a);
    EXPECT_EQ(order(b, call("ffi.DeepCopy", {b})), "=") << repr(b);
    EXPECT_FALSE(equal(a, b)) << repr(a) << " and " << repr(b);
    EXPECT_TRUE(equal(b, call("ffi.DeepCopy", {b}))) << repr(b);
  }
}

TEST(ContentOrder, RefusesValuesThatHaveNone) {
  EXPECT_EQ(order(1, 1.0), "TypeError: Cannot compare values of different types: int vs float");
  EXPECT_EQ(order(std::nan(""), 1.0), "TypeError: Cannot order NaN values");
  EXPECT_EQ(order(1.0, std::nan("")), "TypeError: Cannot order NaN values");
  EXPECT_EQ(order(map("a", 1), map("a", 2)), "TypeError: Cannot order Map/Dict values");
  EXPECT_EQ(order(map("a", 1), map("b", 1)), "TypeError: Cannot order Map/Dict values");
  EXPECT_EQ(order(map("a", 1), map()), "TypeError: Cannot order Map/Dict values");
  EXPECT_EQ(order(map("a", 1), map("a", 1)), "=");
  EXPECT_TRUE(equal(std::nan("1"), std::nan("2")));
  EXPECT_FALSE(equal(std::nan(""), 1.0));
  EXPECT_FALSE(equal(1.0, std::nan("")));
  EXPECT_FALSE(equal(1, 1.0));
  EXPECT_FALSE(equal(1, Value()));
  EXPECT_FALSE(equal(list(1), array(1)));
  EXPECT_TRUE(equal(map("a", 1, "b", 2), map("b", 2, "a", 1))) << "whatever the order of keys";
  EXPECT_FALSE(equal(map("a", 1), map("a", 2)));
  EXPECT_FALSE(equal(map("a", 1), map("b", 1)));
  int object;
  const auto address = [](void *to) { return raw(OPD_POINTER, [to](opd_value &v) { v.u.pointer = to; }); };
  EXPECT_EQ(order(address(&object), address(nullptr)), "TypeError: Cannot order values of type void*");
  EXPECT_EQ(order(address(&object), address(&object)), "=");
  const Value one = list(), other = list();
  call("ffi.ListAppend", {one, one}), call("ffi.ListAppend", {other, other});
  EXPECT_TRUE(equal(one, other)) << "equal as far as they are compared";
  EXPECT_EQ(order(one, other), "ValueError: RecursiveCompare: cyclic reference detected in ordering");
  call("ffi.ListClear", {one}), call("ffi.ListClear", {other});
}

TEST(Hashes, DependOnTheContent) {
  const auto hash = [](const Value &value) { return call("ffi.RecursiveHash", {value}).raw.u.int64; };
  const Value different[] = {Value(),
                             1,
                             2,
                             1.0,
                             2.0,
                             truth(false),
                             truth(true),
                             "a",
                             "b",
                             call("ffi.Bytes", {"a"}),
                             dtype("int8"),
                             dtype("int16"),
                             device(kDLCPU, 0),
                             device(kDLCPU, 1),
                             list(),
                             list(1),
                             list(1, 2),
                             list(2, 1),
                             array(1),
                             map(),
                             map("a", 1),
                             map("a", 2),
                             map("b", 1),
                             map("a", 1, "b", 2),
                             map("a", 2, "b", 1),
                             call("ffi.Shape", {1}),
                             call("ffi.Shape", {2}),
                             call("ffi.Shape", {1, 2})};
  for (const Value &a : different)
    for (const Value &b : different) EXPECT_EQ(hash(a) == hash(b), &a == &b) << repr(a) << " and " << repr(b);
  for (const Value &value : different) EXPECT_EQ(hash(value), hash(call("ffi.DeepCopy", {value}))) << repr(value);
  EXPECT_EQ(hash(map("a", 1, "b", 2)), hash(map("b", 2, "a", 1)));
  const Value twice = array(7);
  EXPECT_EQ(hash(list(twice, twice)), hash(list(array(7), array(7)))) << "what appears twice is no other content";
}

TEST(DeepCopies, ShareNothingThatCanChange) {
  const Value inner = list(1), dict = call("ffi.Dict", {"k", inner}),
              outer = array(inner, dict, map("m", inner), "text");
  const Value copy = call("ffi.DeepCopy", {outer});
  EXPECT_EQ(repr(copy), repr(outer));
  call("ffi.ListAppend", {inner, 2});
  call("ffi.DictSetItem", {dict, "new", 1});
  EXPECT_EQ(repr(copy), R"(([1], {"k": [1]}, {"m": [1]}, "text"))");
  const Value copied = call("ffi.ArrayGetItem", {copy, 0});
  call("ffi.ListAppend", {copied, 3});
  EXPECT_EQ(repr(copy), R"(([1, 3], {"k": [1, 3]}, {"m": [1, 3]}, "text"))") << "a part that was shared still is";
  const Value long_text = "a text that is longer than seven bytes", shape = call("ffi.Shape", {1});
  for (const Value &leaf : {long_text, shape})
    EXPECT_EQ(call("ffi.DeepCopy", {leaf}).raw.u.object, leaf.raw.u.object) << "it cannot change";
  Value function;
  opd_function *found = nullptr;
  EXPECT_EQ(opd_function_get_global("ffi.List", &found), nullptr);
  function.raw.type = OPD_FUNCTION, function.raw.u.object = reinterpret_cast<opd_object *>(found);
  call("ffi.DeepCopy", {list(function)});
  EXPECT_EQ(last_error,
            "RuntimeError: Cannot deep copy object of type \"ffi.Function\" because it is not copy-constructible");
}

TEST(DeepCopies, HoldTheCopyWhereTheOriginalHoldsItself) {
  const Value dict = call("ffi.Dict", {}), map_of = map("dict", dict);
  call("ffi.DictSetItem", {dict, "map", map_of});
  const Value copy = call("ffi.DeepCopy", {map_of}), copied = call("ffi.MapGetItem", {copy, "dict"});
  EXPECT_NE(copy.raw.u.object, map_of.raw.u.object);
  EXPECT_NE(copied.raw.u.object, dict.raw.u.object);
  EXPECT_EQ(call("ffi.DictGetItem", {copied, "map"}).raw.u.object, copy.raw.u.object);
  EXPECT_EQ(call("ffi.DictGetItem", {dict, "map"}).raw.u.object, map_of.raw.u.object) << "the original is as it was";
  for (const Value &circle : {dict, copied}) call("ffi.DictClear", {circle});
}

TEST(Conversions, TakeContainersOfTheSameKind) {
  const auto converted = [](const char *type, const Value &value) {
    Value result;
    const opd_value *hook = attribute_of(type, "__ffi_convert__");
    if (!hook) return std::string("no conversion");
    opd_error *error = opd_function_call(reinterpret_cast<opd_function *>(hook->u.object), &value.raw, 1, &result.raw);
    const std::string message = error ? std::string(opd_error_kind(error)) + ": " + opd_error_message(error) : "";
    opd_error_release(error);
    return error ? message : repr(result);
  };
  EXPECT_EQ(converted("ffi.Array", list(1, 2)), "(1, 2)");
  EXPECT_EQ(converted("ffi.List", array(1, 2)), "[1, 2]");
  EXPECT_EQ(converted("ffi.Array", array(1)), "(1,)");
  EXPECT_EQ(converted("ffi.Shape", list(2, 3)), "Shape(2, 3)");
  EXPECT_EQ(converted("ffi.Shape", call("ffi.Shape", {4})), "Shape(4)");
  EXPECT_EQ(converted("ffi.Shape", list(2, 3.5)), "TypeError: Cannot cast from `ffi.List` to `ffi.Shape`");
  EXPECT_EQ(converted("ffi.Map", call("ffi.Dict", {"a", 1})), R"({"a": 1})");
  EXPECT_EQ(converted("ffi.Dict", map("a", 1)), R"({"a": 1})");
  EXPECT_EQ(converted("ffi.Map", list(1)), "TypeError: Cannot cast from `ffi.List` to `ffi.Map`");
  EXPECT_EQ(converted("ffi.Array", map()), "TypeError: Cannot cast from `ffi.Map` to `ffi.Array`");
  EXPECT_EQ(converted("ffi.String", "text"), "\"text\"");
  EXPECT_EQ(converted("ffi.String", 1), "TypeError: Cannot cast from `int` to `ffi.String`");
  EXPECT_EQ(converted("ffi.Bytes", call("ffi.Bytes", {"b"})), "b\"b\"");
  EXPECT_EQ(converted("ffi.Bytes", "b"), "TypeError: Cannot cast from `ffi.SmallStr` to `ffi.Bytes`");
  EXPECT_EQ(converted("ffi.Object", list()), "[]") << "every object is one";
  EXPECT_EQ(converted("ffi.Object", 1), "TypeError: Cannot cast from `int` to `ffi.Object`");
}

}  // namespace
