"""RPC sessions, by which programs are sent to other machines, and run and timed there. The names are those of tvm.rpc.

    session = opdyno.rpc.connect("board", 9090, key="pi4")       # `opdyno serve` runs there, or a server of TVM's
    session.upload("model.so")                                   # built for the board
    dev = session.cpu()                                          # or cuda(), cl(), vulkan(): the board's
    vm = opdyno.VirtualMachine(session.load_module("model.so"), dev)
    y = vm["main"](opdyno.tensor(x, dev)).numpy()
    print(vm.time_evaluator("main", dev, repeat=3)(opdyno.tensor(x, dev)))

A session's objects are used like local ones: devices, tensors, modules, VMs and functions. An error of the server is
raised with the server's address after the message. Ctrl-C ends a request early. The server's work continues, and the
next request waits for its end. All objects from a session keep it open.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import _native
from ._device import Device, device
from ._errors import Code, Error
from ._function import Function, named
from ._module import Module
from ._time import limit_ns, nanoseconds
from .vm import _watch_signals

_Result = TypeVar("_Result")


def _address(url: str, port: int) -> str:
    return f"[{url}]:{port}" if ":" in url and not url.startswith("[") else f"{url}:{port}"


def _tls(ca: str | os.PathLike[str] | None, fingerprint: str | None, name: str | None) -> dict[str, str | None]:
    file = None if ca is None else os.fspath(ca)
    return {"tls_ca_file": file, "tls_fingerprint": fingerprint, "tls_name": name}


def _refuse_constructor(arguments: Sequence[Any] | None) -> None:
    if arguments:
        raise NotImplementedError("a session within a session is not offered: session_constructor_args must be empty")


class RPCSession(_native.Handle):
    """A session on another machine, made by `connect` or `TrackerSession.request`.

    Any thread may use it. It makes one request at a time. It belongs to the process that connected: in a child of
    fork(), its requests fail. Source: TVM's RPCSession.
    """

    __slots__ = ("__weakref__",)

    def describe(self) -> dict[str, Any]:
        """Describes the session: `address`, the server's `key`, the session's `index`, the `server` ("opdyno 0.2.0" or
        "tvm"), its `host` name ("" if it is not known), and `absence`, the reason why the session has ended ("" while
        it is open)."""
        described: dict[str, Any] = json.loads(_native.opd_rpc_session_describe(self))
        return described

    def get_function(self, name: str) -> Function:
        """Returns a global function of the server. ValueError (code NOT_FOUND) if there is none."""
        return named(_native.opd_rpc_session_get_function(self, name), name)

    def device(self, dev_type: str | int | Device, dev_id: int = 0) -> Device:
        """Returns the local name of a device of the server: `session.device("cuda", 1)`. The device need not exist; see
        `Device.exist`."""
        return _native.opd_rpc_session_device(self, device(dev_type, dev_id))

    def upload(self, data: str | os.PathLike[str] | bytes | bytearray, target: str | None = None) -> None:
        """Writes a file of the session. `data` is a path, or bytes, which need a `target`.

        `target`: its relative path on the server. Default: the file's own name.
        """
        if isinstance(data, (bytes, bytearray)):
            if not target:
                raise ValueError("target must be given for bytes")
            content = bytes(data)
        else:
            with open(data, "rb") as file:
                content = file.read()
            target = target or os.path.basename(os.fspath(data))
        _native.opd_rpc_session_upload(self, target, content)

    def download(self, path: str) -> bytearray:
        """Returns the content of a file of the session."""
        return bytearray(_native.opd_rpc_session_download(self, path))

    def remove(self, path: str) -> None:
        """Removes a file of the session."""
        self.get_function("tvm.rpc.server.remove")(path)

    def listdir(self, path: str = ".") -> str:
        """Returns the names of the session's files, separated by commas."""
        names: str = self.get_function("tvm.rpc.server.listdir")(path)
        return names

    def load_module(self, path: str) -> Module:
        """Loads a file of the session on the server. The module's kind is "rpc", and its functions run on the
        server."""
        return _native.opd_rpc_session_load_module(self, path)

    def download_linked_module(self, path: str) -> bytearray:
        """Links a file of the session on the server, and returns the library. `Error` if the server has no such
        function."""
        return bytearray(self.get_function("tvm.rpc.server.download_linked_module")(path))

    def system_lib(self) -> Module:
        """Returns the module of the object files that are linked into the server."""
        module: Module = self.get_function("ffi.SystemLib")()
        return module

    def close(self) -> None:
        """Ends the session, including a request for which another thread waits. All later requests fail (code IO)."""
        _native.opd_rpc_session_close(self)

    def __enter__(self) -> RPCSession:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def cpu(self, dev_id: int = 0) -> Device:
        """The server's CPU."""
        return self.device("cpu", dev_id)

    def cuda(self, dev_id: int = 0) -> Device:
        """An NVIDIA GPU of the server."""
        return self.device("cuda", dev_id)

    def cl(self, dev_id: int = 0) -> Device:
        """An OpenCL device of the server."""
        return self.device("opencl", dev_id)

    def vulkan(self, dev_id: int = 0) -> Device:
        """A Vulkan device of the server."""
        return self.device("vulkan", dev_id)

    def metal(self, dev_id: int = 0) -> Device:
        """A Metal device of the server."""
        return self.device("metal", dev_id)

    def rocm(self, dev_id: int = 0) -> Device:
        """An AMD GPU of the server."""
        return self.device("rocm", dev_id)

    def ext_dev(self, dev_id: int = 0) -> Device:
        """A device of another library on the server."""
        return self.device("ext_dev", dev_id)

    def hexagon(self, dev_id: int = 0) -> Device:
        """A Hexagon processor of the server."""
        return self.device("hexagon", dev_id)

    def webgpu(self, dev_id: int = 0) -> Device:
        """A WebGPU device of the server."""
        return self.device("webgpu", dev_id)

    def __repr__(self) -> str:
        its = self.describe()
        state = f", ended: {its['absence']}" if its["absence"] else ""
        return f"<RPCSession {its['index']} with {its['address']}, {its['server']}, key \"{its['key']}\"{state}>"


class TrackerSession:
    """A tracker (`python -m tvm.exec.rpc_tracker`), which assigns servers. Made by `connect_tracker`.

    Source: TVM's TrackerSession.
    """

    def __init__(self, addr: tuple[str, int]) -> None:
        self._tracker = _address(*addr)
        self.summary()  # fails if there is no tracker

    def summary(self) -> dict[str, Any]:
        """Returns the state of the tracker: `server_info`, a list of its servers, and `queue_info`, the number of
        `free` servers and of `pending` requests for each key."""
        known: dict[str, Any] = json.loads(_native.opd_rpc_tracker_summary(self._tracker, None))
        return known

    def text_summary(self) -> str:
        """Returns the state as a table of servers and a table of keys."""
        known = self.summary()
        servers = sorted((one["key"], ":".join(map(str, one["addr"]))) for one in known["server_info"])
        total: dict[str, int] = {}
        for key, _ in servers:
            name = key.partition(":")[2]
            total[name] = total.get(name, 0) + 1
        lines = [f"{'server':<24}key", *(f"{address:<24}{key}" for key, address in servers), ""]
        lines.append(f"{'key':<24}{'total':>6}{'free':>6}{'pending':>9}")
        for key, queue in sorted(known["queue_info"].items()):
            if total.get(key) or queue["pending"]:
                lines.append(f"{key:<24}{total.get(key, 0):>6}{queue['free']:>6}{queue['pending']:>9}")
        return "\n".join(lines) + "\n"

    def request(
        self,
        key: str,
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 5,
        session_constructor_args: Sequence[Any] | None = None,
        *,
        wait: float | None = None,
        secret: str | None = None,
        tls_ca: str | os.PathLike[str] | None = None,
        tls_fingerprint: str | None = None,
        tls_name: str | None = None,
    ) -> RPCSession:
        """Waits until a server with the key is free, and begins a session with it.

        Requests with a greater `priority` are served first. `session_timeout`: seconds after which the
        server may end the session; 0: never. `max_retry`: number of attempts, because an assigned server may be lost.
        `wait`: limit in seconds of the wait for the server, and for each later request of the session; None: no limit.
        `secret` and `tls_…`: as in `connect`; the tracker's messages are not encrypted.
        """
        _refuse_constructor(session_constructor_args)
        options = {
            "key": key,
            "priority": priority,
            "session_timeout_ns": nanoseconds("session_timeout", session_timeout),
            "answer_timeout_ns": limit_ns("wait", wait),
            "secret": secret,
            **_tls(tls_ca, tls_fingerprint, tls_name),
        }
        _watch_signals()
        for left in range(max(1, max_retry) - 1, -1, -1):
            try:
                return _native.opd_rpc_request(self._tracker, options)
            except Error as error:
                if left == 0 or error.code not in (Code.IO, Code.FAILED_PRECONDITION, Code.BAD_FORMAT):
                    raise
        raise AssertionError  # the last try has raised

    def request_and_run(
        self,
        key: str,
        func: Callable[[RPCSession], _Result],
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 2,
    ) -> _Result:
        """Requests a server and returns `func(session)`. If the session breaks before `func` returns, tries again
        with another server.

        If a call of `func` fails, it must not leave any state behind.
        """
        for left in range(max(1, max_retry) - 1, -1, -1):
            session = self.request(key, priority=priority, session_timeout=session_timeout)
            start = time.monotonic()
            try:
                return func(session)
            except Error as error:
                if session_timeout and time.monotonic() - start >= session_timeout * 0.95:
                    raise TimeoutError(f"the session of {session_timeout} s ended before {func!r} did") from error
                if left == 0 or not session.describe()["absence"]:
                    raise
        raise AssertionError  # the last try has raised


def connect(
    url: str,
    port: int,
    key: str = "",
    session_timeout: float = 0,
    session_constructor_args: Sequence[Any] | None = None,
    enable_logging: bool = False,
    *,
    connect_timeout: float | None = 10,
    answer_timeout: float | None = None,
    secret: str | None = None,
    tls_ca: str | os.PathLike[str] | None = None,
    tls_fingerprint: str | None = None,
    tls_name: str | None = None,
) -> RPCSession:
    """Begins a session with a server: `opdyno serve`, or `python -m tvm.exec.rpc_server`.

    `key`: the server's key. `session_timeout`: seconds after which the server may end the session; 0: never.
    `connect_timeout`, `answer_timeout`: limits in seconds to connect, and to wait for each answer (None: no limit).
    `secret`: the secret of both sides (`opdyno serve --secret-file`), at least 16 bytes. Each side proves that it knows
    the secret, without sending it. With `tls_ca` or `tls_fingerprint`, the session uses TLS (`opdyno serve
    --tls-cert`). An authority of the file `tls_ca` (PEM) must have signed the server's certificate for `tls_name`, by
    default `url`; or the certificate's SHA-256 must be the fingerprint. `enable_logging` is accepted for compatibility
    with TVM. The `Error` names the address: IO if no server listens there, FAILED_PRECONDITION for another key, secret
    or certificate. Source: TVM's rpc.connect.
    """
    _refuse_constructor(session_constructor_args)
    options = {
        "key": key,
        "session_timeout_ns": nanoseconds("session_timeout", session_timeout),
        "connect_timeout_ns": limit_ns("connect_timeout", connect_timeout),
        "answer_timeout_ns": limit_ns("answer_timeout", answer_timeout),
        "secret": secret,
        **_tls(tls_ca, tls_fingerprint, tls_name),
    }
    _watch_signals()
    return _native.opd_rpc_connect(_address(url, port), options)


def connect_tracker(url: str, port: int) -> TrackerSession:
    """Connects to a tracker. `Error` (code IO, BAD_FORMAT) if there is none at that address."""
    return TrackerSession((url, port))


_native.register_class("RpcSession", RPCSession)

__all__ = ["RPCSession", "TrackerSession", "connect", "connect_tracker"]
