#!/usr/bin/env python3
"""Makes the seeds of rpc_session and rpc_client, both sides of sessions of TVM's RPC: python3 make_sessions.py."""
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
INIT, CALL, RETURN, EXCEPTION, COPY_FROM, COPY_TO, COPY_ACK, GLOBAL, FREE, SET_DEVICE, ATTR, ALLOCATE, FREE_DATA, SYNC = range(2, 16)
COPY_AMONG, ALLOCATE_SCOPED, CREATE_STREAM, FREE_STREAM, SET_STREAM, CURRENT_STREAM = range(16, 22)
NONE, INT, HANDLE, DEVICE, TENSOR, STRING, BYTES, TEXT_OBJECT, BYTES_OBJECT, FUNCTION, TENSOR_OBJECT, ARRAY, MODULE = (
    0, 1, 4, 6, 7, 8, 9, 65, 66, 68, 70, 71, 73)
GREETING = struct.pack("<i", 0xFF271)


def save(folder, name, content):
    (HERE / folder).mkdir(exist_ok=True)
    (HERE / folder / name).write_bytes(content)


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def frame(code, *parts):
    body = struct.pack("<i", code) + b"".join(parts)
    return struct.pack("<Q", len(body)) + body


# ---- values: each has its type

none = struct.pack("<i", NONE)
cpu = struct.pack("<iii", DEVICE, 1, 0)


def values(*given):
    return struct.pack("<i", len(given)) + b"".join(given)


def integer(number):
    return struct.pack("<iq", INT, number)


def handle(number, kind=HANDLE):
    return struct.pack("<iQ", kind, number)


def string(value):
    return struct.pack("<i", STRING) + text(value)


def view(data, *dims):
    return struct.pack("<QiiiI", data, 1, 0, len(dims), 2 | 32 << 8 | 1 << 16) + struct.pack("<%dqQ" % len(dims), *dims, 0)


def tensor(data, *dims):
    return struct.pack("<i", TENSOR) + view(data, *dims)


# ---- what clients send: objects have the numbers 1, 2, … in the order in which they come to be

BEGIN = GREETING + struct.pack("<i", 7) + b"client:" + frame(INIT, text("0.8.0"), values())


def find(name):
    return frame(GLOBAL, values(string(name)))


def call(number, *given):
    return frame(CALL, struct.pack("<Q", number), values(*given))


content = struct.pack("<i", BYTES) + text("content")
save("rpc_session", "files", BEGIN + find("tvm.rpc.server.upload") + call(1, string("f"), content) + find("tvm.rpc.server.download")
     + call(2, string("f")) + find("tvm.rpc.server.listdir") + call(3) + find("tvm.rpc.server.workpath") + call(4, string("f"))
     + find("tvm.rpc.server.remove") + call(5, string("f")))
save("rpc_session", "module", BEGIN + find("tvm.rpc.server.upload") + call(1, string("m.c"), content)
     + find("tvm.rpc.server.load_module") + call(2, string("m.c")) + find("tvm.rpc.server.download_linked_module")
     + call(3, string("m.c")) + find("tvm.rpc.server.ModuleGetFunction") + call(4, handle(9, MODULE), string("main"), integer(1))
     + find("tvm.rpc.server.ImportModule") + call(5, handle(9, MODULE), handle(9, MODULE)) + find("opdyno.rpc.list_functions"))
allocate = frame(ALLOCATE_SCOPED, values(tensor(0, 2, 2), none))
save("rpc_session", "tensors", BEGIN + allocate + frame(ALLOCATE, values(cpu, integer(16), integer(64), struct.pack("<iq", 5, 0x012002)))
     + frame(COPY_TO, view(1, 2, 2), struct.pack("<Q", 16), bytes(16)) + frame(COPY_FROM, view(1, 4), struct.pack("<Q", 16))
     + frame(COPY_AMONG, values(tensor(1, 4), tensor(2, 4), handle(0))) + frame(FREE_DATA, values(cpu, handle(1))) + frame(FREE, values(handle(2))))
save("rpc_session", "devices", BEGIN + b"".join(frame(ATTR, values(cpu, integer(attr))) for attr in (0, 5, 8, 14))
     + frame(SET_DEVICE, values(cpu)) + frame(CREATE_STREAM, values(cpu)) + frame(SET_STREAM, values(cpu, handle(1)))
     + frame(CURRENT_STREAM, values(cpu)) + frame(SYNC, values(cpu, handle(1))) + frame(FREE_STREAM, values(cpu, handle(1))))
save("rpc_session", "functions", BEGIN + find("opdyno.rpc.version") + call(1) + find("ffi.ArraySize") + call(2, handle(1, FUNCTION))
     + find("runtime.TVMTensorCreateView") + allocate + call(3, tensor(4, 2, 2), integer(0)) + find("none") + frame(1))

# ---- what servers answer; the first byte says what the client does


def answer(*given):
    return frame(RETURN, values(*given))


def result(kind, *given):
    return answer(integer(kind), *given)


done, nothing, gone = answer(none), result(NONE, none), frame(EXCEPTION, values(string("ValueError: no")))
TVM = GREETING + struct.pack("<i", 7) + b"server:" + done + answer(handle(0))
freed = done
OPDYNO = (GREETING + struct.pack("<i", 7) + b"server:" + done + answer(handle(1)) + result(TEXT_OBJECT, string("0.2.0")) + freed
          + answer(handle(2)) + result(TEXT_OBJECT, string("board")) + freed)
load = answer(handle(3)) + result(MODULE, handle(4))


def get(function, number):
    """ModuleGetFunction, which is looked up once."""
    return (answer(handle(function)) if function else b"") + result(FUNCTION, handle(number))


save("rpc_client", "tensors", b"\0" + TVM + answer(integer(1)) + answer(string("a device")) + answer(integer(1 << 30))
     + answer(handle(1)) + done + frame(COPY_ACK, bytes(16)) + freed)
save("rpc_client", "function", b"\1" + TVM + answer(handle(1)) + result(TENSOR_OBJECT, tensor(2, 2, 2), handle(2)) + answer(integer(1))
     + frame(COPY_ACK, bytes(16)) + result(ARRAY, handle(3)) + answer(handle(4)) + result(INT, integer(2)) + answer(handle(5))
     + result(INT, integer(7)) + result(TEXT_OBJECT, string("an item")) + freed + freed + freed)
save("rpc_client", "module", b"\2" + OPDYNO + answer(handle(5)) + nothing + answer(handle(6))
     + result(BYTES_OBJECT, struct.pack("<i", BYTES) + text("content")) + load + answer(handle(7)) + result(TEXT_OBJECT, string("main\nother"))
     + get(8, 9) + result(BYTES_OBJECT, struct.pack("<i", BYTES) + text("bytes")) + freed + freed)
vm = load + get(5, 6) + result(MODULE, handle(7)) + get(0, 8) + nothing + freed + freed + freed
save("rpc_client", "vm", b"\3" + OPDYNO + vm + answer(handle(9)) + result(TEXT_OBJECT, string("main")) + get(0, 10)
     + result(INT, integer(1)) + get(0, 11) + result(TEXT_OBJECT, string("x")) + get(0, 12) + gone)
report = '{"calls": [], "device_metrics": {}, "configuration": {}}'
save("rpc_client", "profile", b"\4" + OPDYNO + vm + get(0, 9)
     + result(BYTES_OBJECT, struct.pack("<i", BYTES) + struct.pack("<Q", 8 + len(report)) + text(report)))
save("rpc_client", "evaluator", b"\5" + OPDYNO + load + get(5, 6) + answer(handle(7)) + result(FUNCTION, handle(8)) + answer(integer(1))
     + result(BYTES_OBJECT, struct.pack("<iQ", BYTES, 64) + struct.pack("<qqQQ4d", 10, 1, 1, 1, 2, 0.5, 0.25, 0.5)))
