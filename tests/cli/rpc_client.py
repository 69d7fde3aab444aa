"""A client of TVM's RPC: the packets that TVM 0.27's own client sends, and a tracker as TVM's is to a server."""

import json
import socket
import struct
import threading

MAGIC, MISMATCH, TRACKER_MAGIC = 0xFF271, 0xFF273, 0x2F271
INIT_SERVER, CALL, RETURN, EXCEPTION, COPY_FROM, COPY_TO, COPY_ACK, GLOBAL, FREE = 2, 3, 4, 5, 6, 7, 8, 9, 10
ALLOCATE = 17
INT, HANDLE, TENSOR, STRING, BYTES, FUNCTION, MODULE = 1, 4, 7, 8, 66, 68, 73


class Refused(Exception):
    pass


class RemoteError(Exception):
    pass


def exactly(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError("the server closed the connection")
        data += part
    return data


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def string(value):
    return struct.pack("<i", STRING) + text(value)


def tensor(data, dims, device=1):
    return struct.pack("<Qiiii", data, device, 0, len(dims), 2 | 32 << 8 | 1 << 16) + struct.pack(
        "<%dqQ" % len(dims), *dims, 0
    )


class Client:
    def __init__(self, port, key="", host="127.0.0.1"):
        self.connection = self.connect(host, port)
        said = ("client:" + key).encode()
        self.connection.sendall(struct.pack("<ii", MAGIC, len(said)) + said)
        (code,) = struct.unpack("<i", exactly(self.connection, 4))
        if code != MAGIC:
            self.close()
            raise Refused(code)
        (size,) = struct.unpack("<i", exactly(self.connection, 4))
        self.server = exactly(self.connection, size).decode()
        self.ask(INIT_SERVER, text("0.8.0") + struct.pack("<i", 0))

    def connect(self, host, port):
        return socket.create_connection((host, port), timeout=60)

    def close(self):
        self.connection.close()

    def ask(self, code, body):
        self.connection.sendall(struct.pack("<Qi", 4 + len(body), code) + body)
        return self.answer()

    def answer(self):
        (size,) = struct.unpack("<Q", exactly(self.connection, 8))
        answer = exactly(self.connection, size)
        (code,) = struct.unpack("<i", answer[:4])
        if code == EXCEPTION:
            raise RemoteError(answer[4 + 4 + 4 + 8 :].decode())
        return answer[4:]

    def function(self, name):
        return struct.unpack("<iiQ", self.ask(GLOBAL, struct.pack("<i", 1) + string(name)))[2]

    def call(self, function, *values):
        if isinstance(function, str):
            function = self.function(function)
        return self.ask(CALL, struct.pack("<Qi", function, len(values)) + b"".join(values))

    def object_of(self, *call):
        return struct.unpack("<iiqiQ", self.call(*call))[4]

    def upload(self, name, content):
        self.call("tvm.rpc.server.upload", string(name), struct.pack("<ii", BYTES, BYTES) + text(content))

    def text_of(self, *call):
        return self.call(*call)[4 + 12 + 4 + 8 :].decode()

    def kernel(self, library, name):
        return self.function_of(self.object_of("tvm.rpc.server.load_module", string(library)), name)

    def function_of(self, module, name):
        get = self.function("tvm.rpc.server.ModuleGetFunction")
        return self.object_of(get, struct.pack("<iQ", MODULE, module), string(name), struct.pack("<iq", 2, 1))

    def floats(self, values, device=1, dims=None):
        dims = dims or [len(values)]
        data = struct.unpack(
            "<iiQ", self.ask(ALLOCATE, struct.pack("<ii", 2, TENSOR) + tensor(0, dims, device) + struct.pack("<i", 0))
        )[2]
        self.ask(COPY_TO, tensor(data, dims, device) + text(struct.pack("<%df" % len(values), *values)))
        return data

    def read(self, data, count, device=1, dims=None):
        asked = tensor(data, dims or [count], device) + struct.pack("<Q", 4 * count)
        return list(struct.unpack("<%df" % count, self.ask(COPY_FROM, asked)))


def argument(data, dims, device=1):
    """`dims` may be the number of elements."""
    return struct.pack("<i", TENSOR) + tensor(data, [dims] if isinstance(dims, int) else dims, device)


class Tracker(threading.Thread):
    """Keeps what servers say, and hands them out, to `take` and to clients."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.said, self.pending, self.servers, self.connections = [], [], [], []
        self.changed = threading.Condition()
        self.start()

    def run(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            assert exactly(connection, 4) == struct.pack("<i", TRACKER_MAGIC)
            connection.sendall(struct.pack("<i", TRACKER_MAGIC))
            while True:
                (size,) = struct.unpack("<i", exactly(connection, 4))
                message = json.loads(exactly(connection, size))
                answer = 0
                with self.changed:
                    if message[0] == 3:
                        self.pending.append((message[2][0], message[2][1]))
                    elif message[0] == 4:
                        self.changed.wait_for(lambda: self.pending, 60)
                        port, key = self.pending.pop(0)
                        answer = [0, ["127.0.0.1", port, key]]
                    elif message[0] == 5:
                        self.servers.append(message[1])
                    elif message[0] == 6:
                        answer = [0, {"server_info": self.servers, "queue_info": {}}]
                    elif message[0] == 7:
                        answer = [key for _, key in self.pending]
                    self.said.append(message)
                    self.changed.notify_all()
                answer = json.dumps(answer).encode()
                connection.sendall(struct.pack("<i", len(answer)) + answer)
        except (EOFError, OSError):
            connection.close()

    def drop(self):
        """Closes all connections."""
        with self.changed:
            self.pending.clear()
        for connection in self.connections:
            connection.shutdown(socket.SHUT_RDWR)

    def take(self):
        """The port and the key of a server, for one client."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.pending, 60), "no server has offered itself"
            return self.pending.pop(0)
