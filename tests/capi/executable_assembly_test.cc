// What the assembler expects at each place of its text, and the forms that it takes there.
#include "support/opdyno_test.h"

using namespace opdyno_test;

// Each place where the assembler expects something, with what it says then.
TEST(Assembly, ErrorsNameTheExpectedToken) {
  const std::pair<const char *, const char *> cases[] = {
      {".executable 0.14", "line 1, column 13: expected a version, not 0.14"},
      {".declare", "line 1, column 9: expected a function name before the end"},
      {".declare 7", "line 1, column 10: expected a function name, not 7"},
      {".const 5", "line 1, column 8: expected =, not 5"},
      {".const = shape 2", "line 1, column 16: expected (, not 2"},
      {".const = shape(2 3)", "line 1, column 18: expected ,, not 3"},
      {".const = shape(x)", "line 1, column 16: expected a size, not x"},
      {".const = i64(1.5)", "line 1, column 14: 1.5 is not a 64-bit integer"},
      {".const = i64(9223372036854775808)", "line 1, column 14: 9223372036854775808 is not a 64-bit integer"},
      {".const = i64(x)", "line 1, column 14: expected an integer, not x"},
      {".const = i64(1", "line 1, column 15: expected ) before the end"},
      {".const = f64(\"1\")", "line 1, column 14: expected a number, not \"1\""},
      {".const = f64(++1)", "line 1, column 14: expected a number, not +"},
      {".const = f64(x1)", "line 1, column 14: x1 is not a number"},
      {".const = dtype(1)", "line 1, column 16: expected a dtype, not 1"},
      {".const = tensor(nothing, (), 0x)", "line 1, column 17: "},
      {".const = tensor(int8 (), 0x)", "line 1, column 22: expected ,, not ("},
      {".const = tensor(int8, () 0x)", "line 1, column 26: expected ,, not 0x"},
      {".const = tensor(int8, (), x)", "line 1, column 27: expected the elements' bytes as 0x…, not x"},
      {".const = tensor(int8, (), 0x00", "line 1, column 31: expected ) before the end"},
      {".const = tensor(int8, (2), 0x000)", "line 1, column 28: 1 bytes are given for a tensor of 2"},
      {".const = tensor(int8, (2), 0x00000)", "line 1, column 28: 2 bytes are given for a tensor of 2"},
      {".const = tensor(int8, (1), 00)", "line 1, column 28: 0 bytes are given for a tensor of 1"},
      {".const = tensor(int8, (-1), 0x)", "line 1, column 29: 0 bytes are given for a tensor of 0"},
      {".const = tensor(int8, (1), 0x0g)", "line 1, column 28: the elements' bytes are not hexadecimal"},
      {".scope d[0] \"x\"", "line 1, column 8: expected c, not d"},
      {".scope c(0) \"x\"", "line 1, column 9: expected [, not ("},
      {".scope c[x] \"x\"", "line 1, column 10: expected an index, not x"},
      {".scope c[0 \"x\"", "line 1, column 12: expected ], not \"x\""},
      {".scope c[0] x", "line 1, column 13: expected a memory scope, not x"},
      {".func 7() {}", "line 1, column 7: expected a function name, not 7"},
      {".func f {}", "line 1, column 9: expected (, not {"},
      {".func f(x y) {}", "line 1, column 11: expected ,, not y"},
      {".func f(7) {}", "line 1, column 9: expected a parameter name, not 7"},
      {".func f() regs 7 {}", "line 1, column 16: expected =, not 7"},
      {".func f() regs=x {}", "line 1, column 16: expected a number of registers, not x"},
      {".func f() ret", "line 1, column 11: expected {, not ret"},
      {".func f() {\n  7\n}", "line 2, column 3: expected an instruction or label, not 7"},
      {".func f() {\n  % x\n}", "line 2, column 3: a register needs a name or number after %"},
      {".func f() {\n  %x call g()\n}", "line 2, column 6: expected =, not call"},
      {".func f() {\n  %x = ret %x\n}", "line 2, column 8: expected call, not ret"},
      {".func f() {\n  call 7()\n}", "line 2, column 8: expected a function name, not 7"},
      {".func f() {\n  call g 7\n}", "line 2, column 10: expected (, not 7"},
      {".func f() {\n  call g(1 2)\n}", "line 2, column 12: expected ,, not 2"},
      {".func f() {\n  call g(1.5)\n}", "line 2, column 10: 1.5 is not a 64-bit integer"},
      {".func f() {\n  call g(@7)\n}", "line 2, column 11: expected a function name, not 7"},
      {".func f() {\n  call g(36028797018963968)\n}",
       "line 2, column 10: 36028797018963968 does not fit an immediate's 56 bits; write i64(36028797018963968)"},
      {".func f() {\n  call g(-36028797018963969)\n}", "line 2, column 10: -36028797018963969 does not fit"},
      {".const = i64(1)\n.func f() {\n  call g(c[1])\n}", "line 3, column 10: constant 1 of 1 declared by .const"},
      {".func f() {\n  call g(i64(1), c[-1])\n}", "line 2, column 18: constant -1 of 0 declared by .const"},
      {".func f() {\n  ret 7\n}", "line 2, column 7: expected a register, not 7"},
      {".func f() {\n  goto 7\n}", "line 2, column 8: expected a label, not 7"},
      {".func f() {\n  if 7 else l\n}", "line 2, column 6: expected a register, not 7"},
      {".func f(x) {\n  if %x l\n}", "line 2, column 9: expected else, not l"},
      {".func f(x) {\n  if %x else 7\n}", "line 2, column 14: expected a label, not 7"},
      {".func f(x) {\n  if %x else l\n}", "line 2, column 14: there is no label l in this function"},
      {".func f() {\n  %a = call g()\n  %3 = call g()\n  ret %a\n}", "line 3, column 3: one function cannot have both"},
      {".const = \"\\xg0\"", "line 1, column 10: \\x needs two hexadecimal digits"},
      {".const = \"\\x0\"", "line 1, column 10: \\x needs two hexadecimal digits"},
      {".const = \"\\q\"", "line 1, column 10: the escapes of strings are \\n \\t \\r \\\" \\\\ \\xHH"},
      {".const = \"abc", "line 1, column 10: this string does not end on its line"},
      {".const = \"abc\\", "line 1, column 10: this string does not end on its line"},
      {"\t; a comment\r\n ; \"another\n  @",
       "line 3, column 3: expected .declare, .const, .scope or .func (.executable "
       "comes first), not @"},
      {"; only a comment\n.executable \"0.14\" .executable",
       "line 2, column 20: expected .declare, .const, .scope or .func"}};
  for (const auto &[text, message] : cases)
    expect_throws([&, text = text] { Executable::assemble(text); }, OPD_BAD_FORMAT, std::string("assembly ") + message);
  const std::string of_41(41, 'x');
  expect_throws([&] { Executable::assemble(of_41); }, OPD_BAD_FORMAT, "not " + of_41.substr(1));
  try {
    Executable::assemble(of_41);
  } catch (const Error &e) { EXPECT_EQ(e.message().find(of_41), std::string::npos) << "40 characters are shown"; }
}

TEST(Assembly, TakesEachFormOfNumbersTextsAndBlanks) {
  const Executable built = Executable::assemble(
      ".const=\"\\n\\t\\r\\\"\\\\\\x0a\\xAf\\x40\\x20; no comment\";comment\r\n"
      ".func\tmain(a$1,_b,.c)regs=+5{call "
      "f(+36028797018963967,-36028797018963968,i64(+1),f64(-1e+2),f64(1E-2),%a$1,%_b,"
      "%.c,%1048575)ret %2}");
  const std::string text = built.disassemble();
  EXPECT_NE(text.find(".const = \"\\n\\t\\x0d\\\"\\\\\\n\xAF@ ; no comment\"  ; c[0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n.func main(a$1, _b, \".c\") regs=1048576 {\n"
                      "  call f(36028797018963967, -36028797018963968, i64(1), f64(-100), f64(0.01), %a$1, %_b, %2, "
                      "%1048575)\n  ret %2\n}\n"),
            std::string::npos)
      << text;
  EXPECT_NE(Executable::assemble(".func f() regs=3 {\n  ret %1\n}").disassemble().find("regs=3"), std::string::npos);
  EXPECT_NE(Executable::assemble(".func f() regs=1 {\n  ret %1\n}").disassemble().find("regs=2"), std::string::npos);
  // Named registers follow the parameters, in each function anew.
  EXPECT_NE(Executable::assemble(".func f(x) {\n  %a = call g()\n  ret %a\n}\n.func h(x, y) {\n  %b = call g(%a)\n"
                                 "  ret %b\n}")
                .disassemble()
                .find("regs=4 {\n  %2 = call g(%3)\n  ret %2\n"),
            std::string::npos);
}
