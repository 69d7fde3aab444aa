"""Messages of protocol buffers with the standard library alone (https://protobuf.dev/programming-guides/encoding/)."""


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def fields(data):
    """Gives (number, value) in order; a value is an integer, or the bytes of a text, a message or packed numbers."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        elif kind == 5:
            value, at = int.from_bytes(data[at : at + 4], "little"), at + 4
        else:
            assert kind == 2, "groups are not used any more"
            size, at = varint(data, at)
            assert at + size <= len(data), "a field ends within its message"
            value, at = data[at : at + size], at + size
        yield key >> 3, value


class Message:
    def __init__(self, data):
        self.all = {}
        for number, value in fields(data):
            self.all.setdefault(number, []).append(value)

    def __contains__(self, number):
        return number in self.all

    def number(self, number, default=0):
        return self.all.get(number, [default])[-1]

    def text(self, number):
        return self.all.get(number, [b""])[-1].decode()

    def texts(self, number):
        return [value.decode() for value in self.all.get(number, [])]

    def message(self, number):
        return Message(self.all.get(number, [b""])[-1])

    def messages(self, number):
        return [Message(value) for value in self.all.get(number, [])]

    def numbers(self, number):
        """Of a repeated field, packed or not."""
        found = []
        for value in self.all.get(number, []):
            at = 0
            while isinstance(value, bytes) and at < len(value):
                one, at = varint(value, at)
                found.append(one)
            if isinstance(value, int):
                found.append(value)
        return found
