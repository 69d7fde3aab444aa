"""A network between a client and a server that does what networks do: delays, cuts, splits, changes."""

import socket
import threading


class Cut(Exception):
    """Ends the connection here."""


class HalfClosed(Exception):
    """Ends this direction here; the other one goes on."""


class FaultyProxy:
    """Passes on what comes to a port of its own. `fault(direction, offset, data)` gives the pieces to send for the bytes at an
    offset of the connection's direction, "up" to the server or "down" to the client, or raises Cut or HalfClosed after some."""

    def __init__(self, port, fault):
        self.port, self.fault = port, fault
        self.passed = {"up": 0, "down": 0}  # bytes of the last connection
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # the thread closes it

    def listen(self):
        with self.listener:
            while True:
                try:
                    client = self.listener.accept()[0]
                except OSError:
                    return
                threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            for connection in (client, server):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.passed = {"up": 0, "down": 0}
            up = threading.Thread(target=self.pass_on, args=("up", client, server), daemon=True)
            up.start()
            self.pass_on("down", server, client)
            up.join()

    def pass_on(self, direction, from_, to):
        ended = [to]
        try:
            while data := from_.recv(1 << 16):
                for piece in self.fault(direction, self.passed[direction], data):
                    to.sendall(piece)
                    self.passed[direction] += len(piece)
        except HalfClosed:
            pass
        except (Cut, OSError):
            ended = [from_, to]
        for connection in ended:
            try:
                connection.shutdown(socket.SHUT_WR if len(ended) == 1 else socket.SHUT_RDWR)
            except OSError:  # it has ended
                pass


def cut_at(where, place, how):
    """A fault: the direction `where` ends after so many bytes."""

    def fault(direction, offset, data):
        if direction != where or offset + len(data) <= place:
            yield data
            return
        if place > offset:
            yield data[: place - offset]
        raise how

    return fault


def flip_at(where, place, mask):
    """A fault: one byte is changed."""

    def fault(direction, offset, data):
        at = place - offset
        if direction == where and 0 <= at < len(data):
            data = data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
        yield data

    return fault
