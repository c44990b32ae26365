"""Libraries that hide what they take from others. The loader reads the dynamic segment and the
relocations, and nothing else of what is changed here."""

import struct

DYNAMIC, LOAD = 2, 1  # kinds of segments
SYMBOLS, STRINGS, RELOCATIONS, SIZE, CALLS, CALLS_SIZE = 6, 5, 7, 8, 23, 2
GNU_HASH, VERSIONS = 0x6ffffef5, 0x6ffffff0


def without_sections(data):
    """The table of sections is gone, and the header knows of none."""
    data = bytearray(data)
    [table] = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    data[table:table + size * count] = bytes(size * count)
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)
    return bytes(data)


def with_few_symbols(data):
    """The table of sections says that there is one symbol, which has no name."""
    data = bytearray(data)
    [table] = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    for i in range(count):
        if struct.unpack_from("<I", data, table + i * size + 4) == (11,):  # SHT_DYNSYM
            struct.pack_into("<Q", data, table + i * size + 32, 24)
    return bytes(data)


class Dynamic:
    """The tables that the dynamic segment names, as places in the file."""

    def __init__(self, data):
        self.data = data
        [start] = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        self.segments = [struct.unpack_from("<IIQQQQ", data, start + i * size)
                         for i in range(count)]
        [(_, _, at, _, _, length)] = [each for each in self.segments if each[0] == DYNAMIC]
        entries = [struct.unpack_from("<QQ", data, at + i) for i in range(0, length, 16)]
        self.values = dict(entries)

    def place(self, kind):
        address = self.values[kind]
        for segment, _, offset, start, _, length in self.segments:
            if segment == LOAD and start <= address < start + length:
                return offset + address - start
        raise ValueError(hex(address))

    def symbol(self, i):
        return slice(self.place(SYMBOLS) + 24 * i, self.place(SYMBOLS) + 24 * i + 24)

    def name(self, i):
        [start] = struct.unpack_from("<I", self.data, self.place(SYMBOLS) + 24 * i)
        at = self.place(STRINGS) + start
        return bytes(self.data[at:self.data.index(b"\0", at)]).decode()

    def relocations(self):
        """Where the number of each one's symbol lies."""
        for table, length in ((RELOCATIONS, SIZE), (CALLS, CALLS_SIZE)):
            if table in self.values:
                first = self.place(table)
                yield from range(first + 12, first + self.values[length], 24)


def gnu_hash(name):
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xffffffff
    return value


def behind_the_hash(data, name, given_up):
    """There are no sections, and the symbol `name`, which is taken from elsewhere, is the last, behind
    those that the hash table counts. The library's own function `given_up` cannot be found any more:
    it has the place among the others that are not in the hash table."""
    data = bytearray(without_sections(data))
    tables = Dynamic(data)
    hashes = tables.place(GNU_HASH)
    buckets, first, words, _ = struct.unpack_from("<IIII", data, hashes)
    bucket = hashes + 16 + 8 * words
    chain = bucket + 4 * buckets
    last = max(struct.unpack_from(f"<{buckets}I", data, bucket))
    while struct.unpack_from("<I", data, chain + 4 * (last - first))[0] & 1 == 0:
        last += 1
    [taken] = [i for i in range(1, first) if tables.name(i) == name]
    [victim] = [i for i in range(first, last + 1) if tables.name(i) == given_up]
    moved = {taken: last, last: victim, victim: taken}

    symbols = {i: bytes(data[tables.symbol(i)]) for i in moved}
    versions = {i: bytes(data[tables.place(VERSIONS) + 2 * i:][:2]) for i in moved}
    for old, new in moved.items():
        data[tables.symbol(new)] = symbols[old]
        struct.pack_into("2s", data, tables.place(VERSIONS) + 2 * new, versions[old])
    for at in tables.relocations():
        [number] = struct.unpack_from("<I", data, at)
        struct.pack_into("<I", data, at, moved.get(number, number))

    # One bucket with all others, and a filter that lets every name pass.
    numbers = [gnu_hash(tables.name(i)) & ~1 for i in range(first, last)]
    numbers[-1] |= 1
    struct.pack_into("<I", data, hashes, 1)
    data[hashes + 16:bucket] = b"\xff" * (8 * words)
    struct.pack_into(f"<I{len(numbers)}I", data, bucket, first, *numbers)
    return bytes(data)
