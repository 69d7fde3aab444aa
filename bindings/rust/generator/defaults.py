"""The defaults of options, which a C program gets from the inline functions of the headers."""

import re
import subprocess
import tempfile
from pathlib import Path


def program(tree, structs):
    yield '#include <inttypes.h>\n#include <stdio.h>\n#include <opdyno/opdyno.h>\nint main(void) {'
    for struct in structs:
        yield f"  {struct} {struct}_;\n  {struct}_init(&{struct}_);"
        for member, encoded in tree.structs[struct][1]:
            value = f"{struct}_.{member}"
            if encoded.startswith("p."):
                yield f'  printf("{struct} {member} %d\\n", {value} != NULL);'
            elif encoded == "double":
                yield f'  printf("{struct} {member} %.17g\\n", {value});'
            elif encoded != "DLDevice":
                is_unsigned = encoded.startswith("u") or encoded in tree.enums
                kind, cast = ("u", "uint64_t") if is_unsigned else ("d", "int64_t")
                yield f'  printf("{struct} {member} %" PRI{kind}64 "\\n", ({cast}){value});'
            else:
                yield f'  printf("{struct} {member} DLDevice{{device_type:%d,device_id:%d}}\\n", (int){value}.device_type, (int){value}.device_id);'
    yield "  return 0;\n}"


def defaults_of(api, includes):
    tree, structs = api.tree, [struct.name for struct in api.options]
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory) / "defaults.c", Path(directory) / "defaults"
        source.write_text("\n".join(program(tree, structs)) + "\n")
        subprocess.run(["cc", "-w", *(f"-I{path}" for path in includes), source, "-o", binary], check=True)
        told = subprocess.run([binary], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {struct: {} for struct in structs}
    for struct, member, value in (line.split(" ", 2) for line in told.splitlines()):
        if dict(tree.structs[struct][1])[member] == "double":
            value = repr(float(value))
        found[struct][member] = re.sub(r"DLDevice\{device_type:(\d+),device_id:(\d+)\}",
                                       r"DLDevice { device_type: \1, device_id: \2 }", value)
    return found
