"""Arrow's files with the standard library alone: as much as reports need.

The layout is that of https://arrow.apache.org/docs/format/Columnar.html. The numbers of the fields are those of Schema.fbs,
Message.fbs and File.fbs there; those of the tables are as https://flatbuffers.dev/internals/ says.
"""

import struct

INT, FLOAT, TEXT = 2, 3, 5
CODES = {INT: "q", FLOAT: "d"}


class Table:
    """A table of a FlatBuffer; `at` is where it begins."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def number(self, code, at):
        return struct.unpack_from("<" + code, self.data, at)[0]

    def field(self, index):
        """Where the field is; None if the table lacks it."""
        places = self.at - self.number("i", self.at)
        if 4 + 2 * index >= self.number("H", places):
            return None
        offset = self.number("H", places + 4 + 2 * index)
        return self.at + offset if offset else None

    def value(self, index, code, default=0):
        at = self.field(index)
        return default if at is None else self.number(code, at)

    def follow(self, at):
        return at + self.number("I", at)

    def table(self, index):
        at = self.field(index)
        return None if at is None else Table(self.data, self.follow(at))

    def text(self, index):
        at = self.follow(self.field(index))
        return self.data[at + 4 : at + 4 + self.number("I", at)].decode()

    def list(self, index):
        """Where the elements begin, and how many there are."""
        at = self.field(index)
        if at is None:
            return 0, 0
        at = self.follow(at)
        return at + 4, self.number("I", at)

    def tables(self, index):
        begin, count = self.list(index)
        return [Table(self.data, self.follow(begin + 4 * i)) for i in range(count)]

    def pairs(self, index):
        return {pair.text(0): pair.text(1) for pair in self.tables(index)}


class Batch:
    """The columns of a record batch or of a dictionary."""

    def __init__(self, data, block):
        begin, head, size = struct.unpack_from("<qi4xq", data, block)
        message = Table(data, begin + 8 + struct.unpack_from("<I", data, begin + 8)[0])
        assert message.value(3, "q") == size, "the message and the footer agree about the body's size"
        self.data, self.body, self.end = data, begin + head, begin + head + size
        header = message.table(2)
        table = header.table(1) if message.value(1, "B") == 2 else header
        self.length = table.value(0, "q")
        nodes, count = table.list(1)
        self.nodes = iter([struct.unpack_from("<qq", data, nodes + 16 * i) for i in range(count)])
        buffers, count = table.list(2)
        self.buffers = iter([struct.unpack_from("<qq", data, buffers + 16 * i) for i in range(count)])

    def buffer(self):
        offset, size = next(self.buffers)
        assert offset % 8 == 0 and self.body + offset + size <= self.end, "a buffer lies in the body"
        return self.data[self.body + offset : self.body + offset + size]

    def column(self, kind):
        length, nulls = next(self.nodes)
        valid = self.buffer()
        assert len(valid) in (0, (length + 7) // 8), "a bit for each row"
        present = [not valid or valid[i // 8] >> i % 8 & 1 for i in range(length)]
        assert present.count(0) == nulls, "as many rows lack the value as are said to"
        if kind != TEXT:
            values = struct.unpack("<%d%s" % (length, CODES[kind]), self.buffer())
        else:
            ends = struct.unpack("<%di" % (length + 1), self.buffer())
            texts = self.buffer()
            values = [texts[ends[i] : ends[i + 1]].decode() for i in range(length)]
        return [value if there else None for value, there in zip(values, present)]


def load(data):
    """Gives the columns by name, their metadata by name, and the metadata of the whole."""
    size = struct.unpack_from("<I", data, len(data) - 10)[0]
    start = len(data) - 10 - size
    footer = Table(data, start + struct.unpack_from("<I", data, start)[0])
    schema = footer.table(1)
    blocks = [footer.list(index) for index in (2, 3)]
    texts = [Batch(data, begin).column(TEXT) for begin, count in blocks[:1] if count]
    batch = Batch(data, blocks[1][0])
    columns, metadata = {}, {}
    for field in schema.tables(1):
        encoding = field.table(4)
        values = batch.column(INT if encoding else field.value(2, "B"))
        if encoding:
            assert field.value(2, "B") == TEXT
            values = [value if value is None else texts[0][value] for value in values]
        assert len(values) == batch.length
        assert field.value(1, "B") or None not in values, "only a nullable column lacks values"
        columns[field.text(0)] = values
        metadata[field.text(0)] = field.pairs(6)
    return columns, metadata, schema.pairs(2)
