// Types of parameters and results that a program's own code tells, form by form.
#include "support/program_json.h"

using namespace opdyno_test;

namespace {

// The parameters of a function of x, y and z with this body.
std::string params_of(const std::string &body) {
  return between(json_of(".func f(x, y, z) {\n" + body + "\n  ret %void\n}\n"), "\"params\":[", "],\"result\"");
}
// The first of them.
std::string first_of(const std::string &body) {
  const std::string all = params_of(body), rest = R"(,{"name":"y","kind":"any"},{"name":"z","kind":"any"})";
  return all.ends_with(rest) ? between(all, R"({"name":"x",)", "}" + rest) : all;
}

std::string nulls(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += i ? ",null" : "null";
  return "[" + out + "]";
}

}  // namespace

TEST(ParameterTypes, FollowFromTheChecks) {
  const std::pair<const char *, std::string> cases[] = {
      {"check_tensor_info(%x, 2, dtype(float16), \"x\")", R"("kind":"tensor","dtype":"float16","shape":[null,null])"},
      {"check_tensor_info(%x, 2, \"x\")", R"("kind":"tensor","shape":[null,null])"},
      {"check_tensor_info(%x, 2, dtype(int8))", R"("kind":"tensor","shape":[null,null])"},
      {"check_tensor_info(%x, -1, dtype(int8), \"x\")", R"("kind":"tensor","dtype":"int8")"},
      {"check_tensor_info(%x, 0, dtype(int8), \"x\")", R"("kind":"tensor","dtype":"int8","shape":[])"},
      {"check_tensor_info(%x, 63, \"x\")", R"("kind":"tensor","shape":)" + nulls(63)},
      {"check_tensor_info(%x, 64, \"x\")", R"("kind":"tensor")"},
      {"check_tensor_info(%x)", R"("kind":"tensor")"},
      {"check_shape_info(%x, 1, \"x\")", R"("kind":"shape","shape":[null])"},
      {"check_tuple_info(%x, 1, \"x\")", R"("kind":"tuple")"},
      {"check_func_info(%x, \"x\")", R"("kind":"function")"},
      {"check_string_info(%x, \"x\")", R"("kind":"string")"},
      {"check_prim_value_info(%x, dtype(float32), \"x\")", R"("kind":"float","dtype":"float32")"},
      {"check_prim_value_info(%x, dtype(bool), \"x\")", R"("kind":"int","dtype":"bool")"},
      {"check_prim_value_info(%x)", R"("kind":"int")"},
      {"match_shape(%x, %y, 2, 0, 5, 0, 0, \"x\")", R"("kind":"any","shape":[5,0])"},
      {"match_shape(%x, %y, 2, 0, 5, 0, -1, \"x\")", R"("kind":"any","shape":[5,null])"},
      {"match_shape(%x, %y, 0, \"x\")", R"("kind":"any","shape":[])"},
      {"match_shape(%x, %y, 2, 0, 5, 0, 6)", R"("kind":"any")"},  // an argument is missing
      {"match_shape(%x, %y, 1, 0, 5, 0, 6, \"x\")", R"("kind":"any")"},
      {"match_shape(%x, %y, -1, \"x\")", R"("kind":"any")"},
      {"match_shape(%x, %y)", R"("kind":"any")"},
      {"match_prim_value(%x, %y, 0, 7, \"x\")", R"("kind":"int")"},
      {"match_prim_value(%x, %y, 2, 7, \"x\")", R"("kind":"int")"},
      {"match_prim_value(%x, %y, 1, 7, \"x\")", R"("kind":"int","symbol":"n")"},
      {"match_prim_value(%x, %y, 3, 7, \"x\")", R"("kind":"int","symbol":"n")"},
      {"match_prim_value(%x, %y, 1)", R"("kind":"int")"},
      {"copy(%x)", R"("kind":"any")"},
      {"check_tensor_info(3, 2, \"x\")", R"("kind":"any")"},
      {"check_tensor_info(%r, 2, \"x\")", R"("kind":"any")"},
      {"check_tensor_info()", R"("kind":"any")"}};
  for (const auto &[check, type] : cases) EXPECT_EQ(first_of("  call vm.builtin." + std::string(check)), type) << check;
  EXPECT_EQ(first_of("  call other.check_tuple_info(%x)"), R"("kind":"any")");
}

TEST(ParameterTypes, KeepSizesThatWereMatchedBeforeTheRankIsChecked) {
  const std::string match = "  call vm.builtin.match_shape(%x, %y, 2, 0, 5, 2, 0, \"x\")\n";
  EXPECT_EQ(first_of(match + "  call vm.builtin.check_tensor_info(%x, 1, \"x\")"),
            R"("kind":"tensor","shape":[5,null])");
  EXPECT_EQ(first_of(match + "  call vm.builtin.check_shape_info(%x, 1, \"x\")"), R"("kind":"shape","shape":[5,null])");
  EXPECT_EQ(first_of("  call vm.builtin.check_tensor_info(%x, 1, \"x\")\n" + match +
                     "  call vm.builtin.match_shape(%x, %y, 2, 2, 0, 0, 6, \"x\")"),
            R"("kind":"tensor","shape":[5,6])")
      << "a match adds what it knows";
}

TEST(ParameterTypes, NameOpenSizesInTheOrderOfTheirSlots) {
  EXPECT_EQ(params_of(R"(  call vm.builtin.match_shape(%x, %h, 2, 1, 9, 3, 4, "x")
  call vm.builtin.match_shape(%y, %h, 2, 3, 9, 0, 4, "y")
  call vm.builtin.match_prim_value(%z, %h, 3, 6, "z"))"),
            R"({"name":"x","kind":"any","shape":["n2","n0"]},{"name":"y","kind":"any","shape":["n2",4]},)"
            R"({"name":"z","kind":"int","symbol":"n1"})");
}

TEST(ResultTypes, FollowFromTheBuiltins) {
  const std::pair<const char *, const char *> cases[] = {
      {"alloc_tensor(%x, 0, shape(2, 3), dtype(int8))", R"({"kind":"tensor","dtype":"int8","shape":[2,3]})"},
      {"alloc_tensor(%x, 0)", R"({"kind":"tensor"})"},
      {"alloc_tensor(%x, 0, %y, dtype(int8))", R"({"kind":"tensor","dtype":"int8"})"},
      {"alloc_tensor(%x, 0, shape(2), %y)", R"({"kind":"tensor","shape":[2]})"},
      {"reshape(c[0], shape(4))", R"({"kind":"tensor","dtype":"float64","shape":[4]})"},
      {"copy(c[0])", R"({"kind":"tensor","dtype":"float64","shape":[1,0]})"},
      {"to_device(c[0], 1, 0)", R"({"kind":"tensor","dtype":"float64","shape":[1,0]})"},
      {"ensure_zero_offset(c[0])", R"({"kind":"tensor","dtype":"float64","shape":[1,0]})"},
      {"copy(shape(1, 2))", R"({"kind":"shape","shape":[1,2]})"},
      {"copy(\"text\")", R"({"kind":"string"})"},
      {"copy(dtype(int8))", R"({"kind":"dtype"})"},
      {"copy(f64(1))", R"({"kind":"float"})"},
      {"copy(i64(1))", R"({"kind":"int"})"},
      {"copy(1)", R"({"kind":"int"})"},
      {"copy(@f)", R"({"kind":"function"})"},
      {"copy()", R"({"kind":"any"})"},
      {"copy(%vm)", R"({"kind":"any"})"},
      {"copy(%void)", R"({"kind":"none"})"},
      {"make_shape(%x, 2, 0, 5, 0, -1)", R"({"kind":"shape","shape":[5,null]})"},
      {"make_shape(%x, 2, 0, 5)", R"({"kind":"shape","shape":[5,null]})"},
      {"make_shape(%x, -1)", R"({"kind":"shape"})"},
      {"shape_of(%x)", R"({"kind":"shape"})"},
      {"tensor_to_shape(%x)", R"({"kind":"shape"})"},
      {"make_prim_value(%x, 0, 5)", R"({"kind":"int"})"},
      {"make_tuple()", R"({"kind":"tuple","items":[]})"},
      {"make_closure(@f, %x)", R"({"kind":"function"})"},
      {"null_value()", R"({"kind":"none"})"},
      {"read_if_cond(%x)", R"({"kind":"any"})"}};
  const std::string constant = ".const = tensor(float64, (1, 0), 0x)\n";
  for (const auto &[call, type] : cases)
    EXPECT_EQ(between(json_of(constant + ".func f(x, y, z) {\n  %r = call vm.builtin." + call + "\n  ret %r\n}\n"),
                      "\"result\":", ",\"registers\""),
              type)
        << call;
  EXPECT_EQ(result_of("x, y, z", "  ret %x"), R"({"kind":"any"})");
  EXPECT_EQ(result_of("x, y, z", "  ret %void"), R"({"kind":"none"})");
  EXPECT_EQ(result_of("x, y, z", "again:\n  goto again"), R"({"kind":"any"})") << "it never returns";
  EXPECT_EQ(result_of("x, y, z", "  %r = call other.shape_of(%x)\n  ret %r"), R"({"kind":"any"})");
}

TEST(ResultTypes, AreKnownForTheItemsOfTuples) {
  const auto item = [](const char *index) {
    return result_of("x, y, z",
                     "  %t = call vm.builtin.make_tuple(1, \"s\", f64(2))\n  %r = call vm.builtin.tuple_getitem(%t, " +
                         std::string(index) + ")\n  ret %r");
  };
  EXPECT_EQ(item("0"), R"({"kind":"int"})");
  EXPECT_EQ(item("i64(2)"), R"({"kind":"float"})");
  for (const char *index : {"3", "-1", "%x", "i64(3)"}) EXPECT_EQ(item(index), R"({"kind":"any"})") << index;
}

TEST(ResultTypes, NameASizeThatAParameterHas) {
  const std::string match = "  call vm.builtin.match_shape(%x, %h, 1, 1, 3, \"x\")\n";
  EXPECT_EQ(result_of("x, y, z", match + "  %r = call vm.builtin.make_prim_value(%h, 1, 3)\n  ret %r"),
            R"({"kind":"int","symbol":"n"})");
  EXPECT_EQ(result_of("x, y, z", match + "  %r = call vm.builtin.make_prim_value(%h, 1, 2)\n  ret %r"),
            R"({"kind":"int"})");
  EXPECT_EQ(result_of("x, y, z", match + "  ret %x"), R"({"kind":"any","shape":["n"]})");
}

// What each way has in common: of tuples, item by item.
TEST(ResultTypes, HaveTheFactsThatAllWritesOfTheRegisterShare) {
  const auto either = [](const std::string &one, const std::string &other) {
    return result_of("x, y, z", "  if %x else b\n  %r = call vm.builtin." + one +
                                    "\n  goto end\nb:\n  %r = call vm.builtin." + other + "\nend:\n  ret %r");
  };
  EXPECT_EQ(either("make_tuple(1, \"s\")", "make_tuple(1, f64(2))"),
            R"({"kind":"tuple","items":[{"kind":"int"},{"kind":"any"}]})");
  EXPECT_EQ(either("make_tuple(1)", "make_tuple(1, 2)"), R"({"kind":"tuple"})");
  EXPECT_EQ(either("make_tuple(1)", "null_value()"), R"({"kind":"any"})");
  EXPECT_EQ(either("make_shape(%x, 2, 0, 5, 0, 6)", "make_shape(%x, 2, 0, 5, 0, 7)"),
            R"({"kind":"shape","shape":[5,null]})");
  EXPECT_EQ(either("make_shape(%x, 1, 0, 5)", "shape_of(%x)"), R"({"kind":"shape"})");
  EXPECT_EQ(either("alloc_tensor(%x, 0, shape(2), dtype(int8))", "alloc_tensor(%x, 0, shape(2), dtype(int16))"),
            R"({"kind":"tensor","shape":[2]})");
  EXPECT_EQ(
      result_of("x, y, z",
                "  call vm.builtin.check_shape_info(%x, 1, \"x\")\n  %x = call vm.builtin.shape_of(%y)\n  ret %x"),
      R"({"kind":"shape"})")
      << "a parameter that is written has both";
  EXPECT_EQ(result_of("x, y, z", "  %x = call vm.builtin.shape_of(%y)\n  ret %x"), R"({"kind":"any"})");
}

TEST(ResultTypes, DoNotDependOnEarlierFunctions) {
  const std::string json = json_of(R"(
.func first(x) {
  call vm.builtin.match_shape(%x, %h, 1, 1, 5, "x")
  %t = call vm.builtin.make_tuple(1)
  call vm.builtin.tuple_reset_item(%t, 0)
  ret %t
}
.func second(x) {
  %r = call vm.builtin.make_prim_value(%x, 1, 5)
  %t = call vm.builtin.make_tuple(1, %r)
  ret %t
}
)");
  EXPECT_NE(json.find(R"("result":{"kind":"tuple","items":[{"kind":"any"}]})"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("result":{"kind":"tuple","items":[{"kind":"int"},{"kind":"int"}]})"), std::string::npos)
      << json;
}
