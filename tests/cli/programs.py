"""VM programs for tests/cli, as assembly text."""

OUTPUT = """  {storage} = call vm.builtin.alloc_storage(%vm, shape(4096), 0, dtype(uint8), "global")
  {out} = call vm.builtin.alloc_tensor({storage}, 0, {shape}, dtype(float32))
"""


def output(name, shape="shape(4)"):
    """Makes register %name a new float32 tensor."""
    return OUTPUT.format(storage="%s_" + name, out="%" + name, shape=shape)


def program(*functions):
    return '.executable "0.14"\n' + "\n".join(functions)


def function(name, params, *lines):
    return ".func %s(%s) {\n%s}\n" % (
        name,
        params,
        "".join(line if line.endswith("\n") else "  %s\n" % line for line in lines),
    )


CHECK = 'call vm.builtin.check_tensor_info(%%%s, 1, dtype(float32), "%s must be float32[4]")'
FIXED = 'call vm.builtin.match_shape(%%%s, %%heap, 1, 0, 4, "%s must be float32[4]")'
HEAP = "%heap = call vm.builtin.alloc_shape_heap(%vm, 2)"


def check(name):
    return [CHECK % (name, name), FIXED % (name, name)]


def unary(name, kernel):
    return function(name, "x", HEAP, *check("x"), output("t"), "call %s(%%x, %%t)" % kernel, "ret %t")


ADD_ONE = program(unary("main", "add_one"))
SHOUTS = program(unary("main", "shouts"))
TWO_FUNCTIONS = program(unary("first", "add_one"), unary("second", "add_one"))
WITH_WEIGHT = program(
    function(
        "main", "x, weight", HEAP, *check("x"), *check("weight"), output("t"), "call add(%x, %weight, %t)", "ret %t"
    )
)
# (x + 1, (n, x + 1 again)) for x: float32[n]
SYMBOLIC = program(
    function(
        "main",
        "x",
        HEAP,
        'call vm.builtin.check_tensor_info(%x, 1, dtype(float32), "x must be float32[n]")',
        'call vm.builtin.match_shape(%x, %heap, 1, 1, 0, "x must be float32[n]")',
        "%s = call vm.builtin.make_shape(%heap, 1, 1, 0)",
        output("t", "%s"),
        "call add_one(%x, %t)",
        "%n = call vm.builtin.make_prim_value(%heap, 1, 0)",
        "%inner = call vm.builtin.make_tuple(%n, %t)",
        "%all = call vm.builtin.make_tuple(%t, %inner)",
        "ret %all",
    )
)
IDENTITY = program(function("main", "x", "ret %x"))
UNCHECKED = program(function("main", "x", output("t"), "call add_one(%x, %t)", "ret %t"))
FAILS = program(unary("main", "fails"))
FAILS_INSIDE = program(
    function("main", "x", output("t"), "call add_one(%x, %t)", "%r = call inner(%t)", "ret %r"),
    function("inner", "x", "call fails(%x, %x)", "ret %x"),
)
HANGS = program(unary("main", "hangs"))
SLEEPS = program(unary("main", "sleeps"))
NAPS = program(unary("main", "naps"))
LOOPS = program(
    function("main", "x", HEAP, *check("x"), output("t"), "again:", "call add_one(%x, %t)", "goto again", "ret %t")
)
NEEDS_MISSING = program(unary("main", "nobody_has_this"))
SHAPES = program(
    function(
        "main",
        "s, k",
        HEAP,
        'call vm.builtin.check_shape_info(%s, 2, "s must be a shape of rank 2")',
        'call vm.builtin.match_shape(%s, %heap, 2, 1, 0, 1, 1, "s must be a shape of rank 2")',
        'call vm.builtin.match_prim_value(%k, %heap, 3, 0, "k must be the first size")',
        "%t = call vm.builtin.make_tuple(%s, %k)",
        "ret %t",
    )
)
CHECKED_INSIDE = program(
    function("real", "x", "%r = call is_real(%x)", "ret %r"),
    function("is_real", "x", 'call vm.builtin.check_prim_value_info(%x, dtype(float32), "x must be a float")', "ret %x"),
    function("whole", "x", "%r = call is_whole(%x)", "ret %r"),
    function("is_whole", "x", 'call vm.builtin.check_prim_value_info(%x, dtype(int64), "x must be an int")', "ret %x"),
)
BAD_TEXT = '.executable "0.14"\n.func main(x) {\n  ret %y z\n}\n'
