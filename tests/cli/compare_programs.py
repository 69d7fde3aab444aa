"""A program of 22 kernels for the tests of compare, and ways in which a kernel can be wrong."""

import programs

HEAD = """#include <math.h>
#include <stdint.h>
#include <string.h>
typedef struct { int32_t type; uint32_t length; union { int64_t int64; double float64; void *pointer; } u; } Any;
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t dtype[4]; int64_t *shape, *strides; uint64_t offset; } Tensor;
#define KERNEL(name) int32_t __tvm_ffi_##name(void *self, const Any *args, int32_t count, Any *result)
#define T(i) ((Tensor *)((char *)args[i].u.pointer + (args[i].type == 7 ? 0 : 24)))
#define F(i) ((float *)((char *)T(i)->data + T(i)->offset))
static int64_t size(const Tensor *t) { int64_t n = 1; for (int i = 0; i < t->ndim; ++i) n *= t->shape[i]; return n; }
"""

# Name, operands by number of the value, body. Value 0 is the argument x, float32[4, 4]; kernel i writes value i to y.
# a and b are the operands. Kernels with the body "" write their operand in place.
MATMUL = "for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) { float s = 0; for (int k = 0; k < 4; ++k) s += a[4 * i + k] * b[4 * k + j]; y[4 * i + j] = s; }"
EACH = "for (int i = 0; i < 16; ++i) y[i] = %s;"
ROWS = "for (int r = 0; r < 4; ++r) { %s }"
KERNELS = [
    ("scaled", (0,), EACH % "0.5f * a[i] + 0.25f"),
    ("matmul", (0, 1), MATMUL),
    ("sigmoid", (2,), EACH % "1 / (1 + expf(-a[i]))"),
    ("transposed", (3,), "for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) y[4 * i + j] = a[4 * j + i];"),
    ("add", (3, 4), EACH % "a[i] + b[i]"),
    ("softmax", (5,), ROWS % "float s = 0; for (int c = 0; c < 4; ++c) s += expf(a[4 * r + c]); for (int c = 0; c < 4; ++c) y[4 * r + c] = expf(a[4 * r + c]) / s;"),
    ("matmul1", (6, 2), MATMUL),
    ("tanh", (7,), EACH % "tanhf(a[i])"),
    ("multiply", (8, 1), EACH % "a[i] * b[i]"),
    ("cumsum", (9,), ROWS % "float s = 0; for (int c = 0; c < 4; ++c) y[4 * r + c] = s += a[4 * r + c];"),
    ("mean", (10,), ROWS % "float s = 0; for (int c = 0; c < 4; ++c) s += a[4 * r + c]; for (int c = 0; c < 4; ++c) y[4 * r + c] = a[4 * r + c] - s / 4;"),
    ("square", (11,), EACH % "a[i] * a[i] + 0.1f"),
    ("root", (12,), EACH % "sqrtf(a[i])"),
    ("reversed", (13,), EACH % "a[15 - i]"),
    ("subtract", (14, 6), EACH % "a[i] - b[i]"),
    ("relu", (15,), EACH % "a[i] > 0 ? a[i] : 0.01f * a[i]"),
    ("rolled", (16,), EACH % "a[(i + 5) % 16]"),
    ("matmul2", (17, 13), MATMUL),
    ("exponential", (18,), EACH % "expf(0.1f * a[i])"),
    ("maximum", (19, 8), EACH % "a[i] > b[i] ? a[i] : b[i]"),
    ("shifted", (20,), EACH % "a[i] + 0.125f * i"),
    ("clipped", (21,), EACH % "a[i] < 9 ? a[i] : 9"),
]

# What goes wrong in y after the kernel; before it with a leading "return", which leaves y as it was.
WRONGS = [
    ("scaled by 1.001", "for (int i = 0; i < 16; ++i) y[i] *= 1.001f;"),
    ("one element", "y[6] += 0.01f;"),
    ("off by one index", "memmove(y + 1, y, 15 * sizeof *y);"),
    ("one NaN", "y[3] = NAN;"),
    ("not written", "return 0;"),
    ("half written", "return 0 * memset(y + 8, 255, 0);"),
    ("two elements swapped", "{ float t = y[0]; y[0] = y[1]; y[1] = t; }"),
    ("opposite sign", "for (int i = 0; i < 16; ++i) y[i] = -y[i] - 1e-3f;"),
    ("infinite", "y[15] = INFINITY;"),
    ("a constant more", "for (int i = 0; i < 16; ++i) y[i] += 1e-3f;"),
    ("zero", "memset(y, 0, 16 * sizeof *y);"),
    ("transposed", "for (int i = 0; i < 4; ++i) for (int j = 0; j < i; ++j) { float t = y[4 * i + j]; y[4 * i + j] = y[4 * j + i]; y[4 * j + i] = t; }"),
    ("rounded to 8 bits", "for (int i = 0; i < 16; ++i) { uint32_t u; memcpy(&u, y + i, 4); u &= 0xffff0000u; memcpy(y + i, &u, 4); }"),
    ("last row like the first", "memcpy(y + 12, y, 4 * sizeof *y);"),
    ("its operand", "memcpy(y, a, 16 * sizeof *y); y[0] += 0.5f;"),
    ("one bit", "{ uint32_t u; memcpy(&u, y + 9, 4); u ^= 1u << 20; memcpy(y + 9, &u, 4); }"),
    ("absolute", "for (int i = 0; i < 16; ++i) y[i] = fabsf(y[i]) + 2e-4f;"),
    ("first element lost", "y[0] = 0; y[1] += 1e-2f;"),
    ("columns added", "for (int i = 0; i < 16; ++i) y[i] += 1e-3f * (i % 4);"),
    ("saturated", "for (int i = 0; i < 16; ++i) y[i] = y[i] > 0.05f ? 0.05f : y[i];"),
]


def kernels(wrong=None, how=None):
    """C source of the kernels; kernel number `wrong` is wrong in the way `how`."""
    text = HEAD
    for number, (name, operands, body) in enumerate(KERNELS):
        inputs = "const float *a = F(0);" + (" const float *b = F(1);" if len(operands) == 2 else "")
        defect = WRONGS[how][1] if number == wrong else ""
        if defect.startswith("return"):
            if WRONGS[how][0] == "half written":
                body = body.replace("i < 16", "i < 8").replace("i < 4", "i < 2").replace("r < 4", "r < 2")
            else:
                body = ""
            defect = ""
        text += "KERNEL(%s) { %s float *y = F(%d); %s %s return 0; }\n" % (name, inputs, len(operands), body, defect)
    return text


def program(renamed=None):
    """The program as assembly. `renamed`: new names of kernels."""
    shape = "shape(4, 4)"
    lines = []
    for number, (name, operands, _) in enumerate(KERNELS, 1):
        lines.append(programs.output("v%d" % number, shape))
        names = ["%x" if i == 0 else "%%v%d" % i for i in operands] + ["%%v%d" % number]
        lines.append("call %s(%s)" % ((renamed or {}).get(name, name), ", ".join(names)))
    return programs.program(programs.function("main", "x", *lines, "ret %%v%d" % len(KERNELS)))
