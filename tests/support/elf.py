"""Libraries that hide what they take from others. The loader reads the dynamic segment and the
relocations, and nothing else of what is changed here. Also what a library has for others."""

import re
import struct
import subprocess

LOAD, DYNAMIC, NOTE = 1, 2, 4  # kinds of segments
SEGMENT = "<IIQQQQQQ"
PAGE = 4096
SYMBOLS, STRINGS, RELOCATIONS, SIZE, CALLS, CALLS_SIZE = 6, 5, 7, 8, 23, 2
GNU_HASH, VERSIONS = 0x6ffffef5, 0x6ffffff0


def exports(library):
    """The names of a library's own functions. (Weak ones are templates of the C++ library.)"""
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                             check=True).stdout
    return re.findall(r" T (\w+)", symbols)


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


def with_a_section(data, name):
    """The symbol `name`, which is taken from elsewhere, lies in the library's first section by its entry.
    The loader looks it up by its name all the same."""
    data = bytearray(data)
    tables = Dynamic(data)
    struct.pack_into("<H", data, tables.symbol(tables.taken(name)).start + 6, 1)
    return bytes(data)


def behind_a_segment(data, name, shown):
    """The file has the name `shown`. A segment that has no size in memory, but one in the file, has the
    page with the right name, which the loader maps over the other."""
    data = bytearray(data)
    tables = Dynamic(data)
    at = tables.place_of_name(tables.taken(name))
    page = at // PAGE * PAGE  # of the first segment, whose addresses are places in the file
    right = data[page:page + PAGE]
    data[at:at + len(shown)] = shown.encode()
    data += bytes(-len(data) % PAGE)
    segment = struct.pack(SEGMENT, LOAD, 4, len(data), page, page, PAGE, 0, PAGE)
    data += right

    [start] = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [bytes(data[start + i * size:][:size]) for i in range(count)]
    headers.remove(next(each for each in headers if each[0] == NOTE))  # which nobody needs
    first = next(i for i, each in enumerate(headers) if each[0] == LOAD)
    headers.insert(first + 1, segment)
    data[start:start + size * count] = b"".join(headers)
    return bytes(data)


def with_a_copy(data, name):
    """The relocation by `name` copies as many bytes as the symbol has, where one word is written else."""
    data = bytearray(data)
    tables = Dynamic(data)
    for at in tables.relocations():
        if struct.unpack_from("<I", data, at) == (tables.taken(name),):
            struct.pack_into("<I", data, at - 4, 5)  # R_X86_64_COPY
    return bytes(data)


def with_packed_relocation(data, address):
    """One packed relocation (DT_RELR) of the word at an address, in place of two entries of the dynamic
    segment that nobody needs. It lies where a note lay."""
    data = bytearray(data)
    tables = Dynamic(data)
    [(_, _, at, _, _, length)] = [each for each in tables.segments if each[0] == DYNAMIC]
    note = next(each for each in tables.segments if each[0] == NOTE)
    struct.pack_into("<Q", data, note[2], address)
    new = [(36, note[3]), (35, 8)]  # DT_RELR, DT_RELRSZ
    for i in range(at, at + length, 16):
        if new and struct.unpack_from("<Q", data, i) in ((12,), (13,), (0x6ffffff9,)):  # INIT, FINI, RELACOUNT
            struct.pack_into("<QQ", data, i, *new.pop())
    assert not new
    return bytes(data)


class Dynamic:
    """The tables that the dynamic segment names, as places in the file."""

    def __init__(self, data):
        self.data = data
        [self.headers] = struct.unpack_from("<Q", data, 32)  # one of 56 bytes per segment
        [count] = struct.unpack_from("<H", data, 56)
        self.segments = [struct.unpack_from("<IIQQQQ", data, self.headers + 56 * i)
                         for i in range(count)]
        [(_, _, at, _, _, length)] = [each for each in self.segments if each[0] == DYNAMIC]
        self.entries, self.values = {}, {}  # by their tags: where they are, and what they have
        for i in range(at, at + length, 16):
            tag, value = struct.unpack_from("<QQ", data, i)
            self.entries.setdefault(tag, i)
            self.values[tag] = value

    def place(self, kind):
        address = self.values[kind]
        for segment, _, offset, start, _, length in self.segments:
            if segment == LOAD and start <= address < start + length:
                return offset + address - start
        raise ValueError(hex(address))

    def symbol(self, i):
        return slice(self.place(SYMBOLS) + 24 * i, self.place(SYMBOLS) + 24 * i + 24)

    def place_of_name(self, i):
        [start] = struct.unpack_from("<I", self.data, self.place(SYMBOLS) + 24 * i)
        return self.place(STRINGS) + start

    def name(self, i):
        at = self.place_of_name(i)
        return bytes(self.data[at:self.data.index(b"\0", at)]).decode()

    def taken(self, name):
        """The number of a symbol that is taken from elsewhere: of those that the hash table leaves out."""
        [first] = struct.unpack_from("<I", self.data, self.place(GNU_HASH) + 4)
        [number] = [i for i in range(1, first) if self.name(i) == name]
        return number

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


def hashed(data, tables):
    """The numbers of the symbols in the hash table."""
    buckets, first, words, _ = struct.unpack_from("<IIII", data, tables.place(GNU_HASH))
    bucket = tables.place(GNU_HASH) + 16 + 8 * words
    last = max(struct.unpack_from(f"<{buckets}I", data, bucket))
    while struct.unpack_from("<I", data, bucket + 4 * (buckets + last - first))[0] & 1 == 0:
        last += 1
    return range(first, last + 1)


def hash_anew(data, tables, numbers):
    """One bucket with these symbols, and a filter that lets every name pass."""
    table = tables.place(GNU_HASH)
    [words] = struct.unpack_from("<I", data, table + 8)
    chain = [gnu_hash(tables.name(i)) & ~1 for i in numbers]
    chain[-1] |= 1
    struct.pack_into("<I", data, table, 1)
    data[table + 16:table + 16 + 8 * words] = b"\xff" * (8 * words)
    struct.pack_into(f"<I{len(chain)}I", data, table + 16 + 8 * words, numbers[0], *chain)


def with_names(data, names):
    """Functions have other names, {old: new}, which are no longer than the old."""
    data = bytearray(data)
    tables = Dynamic(data)
    numbers = hashed(data, tables)
    for old, new in names.items():
        at = data.index(b"\0" + old.encode() + b"\0", tables.place(STRINGS)) + 1
        if len(new) > len(old):
            raise ValueError(f"{new} is longer than {old}")
        data[at:at + len(old)] = new.encode().ljust(len(old), b"\0")
    hash_anew(data, tables, numbers)
    return bytes(data)


def behind_the_hash(data, name, given_up):
    """There are no sections, and the symbol `name`, which is taken from elsewhere, is the last, behind
    those that the hash table counts. The library's own function `given_up` cannot be found any more:
    it has the place among the others that are not in the hash table."""
    data = bytearray(without_sections(data))
    tables = Dynamic(data)
    numbers, taken = hashed(data, tables), tables.taken(name)
    [victim] = [i for i in numbers if tables.name(i) == given_up]
    moved = {taken: numbers[-1], numbers[-1]: victim, victim: taken}

    symbols = {i: bytes(data[tables.symbol(i)]) for i in moved}
    versions = {i: bytes(data[tables.place(VERSIONS) + 2 * i:][:2]) for i in moved}
    for old, new in moved.items():
        data[tables.symbol(new)] = symbols[old]
        struct.pack_into("2s", data, tables.place(VERSIONS) + 2 * new, versions[old])
    for at in tables.relocations():
        [number] = struct.unpack_from("<I", data, at)
        struct.pack_into("<I", data, at, moved.get(number, number))

    hash_anew(data, tables, numbers[:-1])
    return bytes(data)
