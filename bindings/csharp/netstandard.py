"""Makes an assembly for .NET Standard 2.0 of one that mono's compiler has compiled for .NET Framework.

Usage: netstandard.py IN.dll OUT.dll

Both have the same code. Only the references differ (ECMA-335, II.22 and II.24): types of mscorlib, System and System.Core are in
assembly netstandard, and spans are in System.Memory, a package that the nuspec names. New metadata is appended to the
last section of the file. The assembly keeps its public key, and its signature is zero, as in publicly signed assemblies: .NET does not
verify signatures. Standard library only."""

import struct
import sys

FRAMEWORK = {"mscorlib", "System", "System.Core"}
TOKEN = bytes.fromhex("cc7b13ffcd2ddd51")  # of both assemblies
NEW = [("netstandard", (2, 0, 0, 0)), ("System.Memory", (4, 0, 1, 0))]
MEMORY = {("System", "Span`1"), ("System", "ReadOnlySpan`1"), ("System", "Memory`1"), ("System", "ReadOnlyMemory`1"),
          ("System", "MemoryExtensions"), ("System.Runtime.InteropServices", "MemoryMarshal")}
STREAMS = (b"#~", b"#Strings", b"#US", b"#GUID", b"#Blob")

# The columns of the tables up to AssemblyRef (II.22): a number is a size in bytes; S, G and B are indices into the heaps; "t3" is an
# index into table 3; a tuple is a coded index: the bits of its tag, and the tables.
TYPE_DEF_OR_REF = (2, (2, 1, 27))
HAS_CONSTANT = (2, (4, 8, 23))
HAS_ATTRIBUTE = (5, (6, 4, 1, 2, 8, 9, 10, 0, 14, 23, 20, 17, 26, 27, 32, 35, 38, 39, 40, 42, 44, 43))
HAS_MARSHAL = (1, (4, 8))
HAS_SECURITY = (2, (2, 6, 32))
MEMBER_PARENT = (3, (2, 1, 26, 6, 27))
HAS_SEMANTICS = (1, (20, 23))
METHOD_DEF_OR_REF = (1, (6, 10))
FORWARDED = (1, (4, 6))
ATTRIBUTE_TYPE = (3, (6, 10))
SCOPE = (2, (0, 26, 35, 1))
COLUMNS = {
    0: (2, "S", "G", "G", "G"), 1: (SCOPE, "S", "S"), 2: (4, "S", "S", TYPE_DEF_OR_REF, "t4", "t6"), 4: (2, "S", "B"),
    6: (4, 2, 2, "S", "B", "t8"), 8: (2, 2, "S"), 9: ("t2", TYPE_DEF_OR_REF), 10: (MEMBER_PARENT, "S", "B"), 11: (2, HAS_CONSTANT, "B"),
    12: (HAS_ATTRIBUTE, ATTRIBUTE_TYPE, "B"), 13: (HAS_MARSHAL, "B"), 14: (2, HAS_SECURITY, "B"), 15: (2, 4, "t2"), 16: (4, "t4"),
    17: ("B",), 18: ("t2", "t20"), 20: (2, "S", TYPE_DEF_OR_REF), 21: ("t2", "t23"), 23: (2, "S", "B"), 24: (2, "t6", HAS_SEMANTICS),
    25: ("t2", METHOD_DEF_OR_REF, METHOD_DEF_OR_REF), 26: ("S",), 27: ("B",), 28: (2, FORWARDED, "S", "t26"), 29: (4, "t4"),
    32: (4, 2, 2, 2, 2, 4, "B", "S", "S"), 35: (2, 2, 2, 2, 4, "B", "S", "S", "B")}
TYPE_REF, ASSEMBLY_REF = 1, 35


def text_at(heap, offset):
    return heap[offset:heap.index(b"\0", offset)].decode()


class Tables:
    """The rows of the stream #~ up to AssemblyRef as lists of numbers, and the bytes after them."""

    def __init__(self, data):
        self.data = data
        self.heaps, self.valid = data[6], struct.unpack_from("<Q", data, 8)[0]
        present = [t for t in range(64) if self.valid >> t & 1]
        self.counts = dict(zip(present, struct.unpack_from(f"<{len(present)}I", data, 24)))
        at = 24 + 4 * len(present)
        self.rows = {}
        for table in (t for t in present if t <= ASSEMBLY_REF):
            sizes = [self.size(c, self.counts) for c in COLUMNS[table]]
            self.rows[table] = []
            for _ in range(self.counts[table]):
                row = []
                for size in sizes:
                    row.append(int.from_bytes(data[at:at + size], "little"))
                    at += size
                self.rows[table].append(row)
        self.rest = data[at:]

    def size(self, column, counts):
        if isinstance(column, int):
            return column
        if isinstance(column, tuple):
            bits, tables = column
            return 4 if any(counts.get(t, 0) >= 1 << (16 - bits) for t in tables) else 2
        if column[0] == "t":
            return 4 if counts.get(int(column[1:]), 0) >= 1 << 16 else 2
        return 4 if self.heaps >> "SGB".index(column) & 1 else 2

    def write(self):
        counts = {**self.counts, **{t: len(rows) for t, rows in self.rows.items()}}
        out = self.data[:24] + b"".join(struct.pack("<I", counts[t]) for t in sorted(counts))
        for table, rows in sorted(self.rows.items()):
            for column in COLUMNS[table]:
                if self.size(column, counts) != self.size(column, self.counts):
                    sys.exit("netstandard.py: an index of the metadata would need another size")
            sizes = [self.size(c, counts) for c in COLUMNS[table]]
            out += b"".join(value.to_bytes(size, "little") for row in rows for value, size in zip(row, sizes))
        return out + self.rest


def retarget(tables, strings, blobs):
    """Returns the heaps with the names and the token of the new references, to which the types are moved."""
    token = len(blobs)
    blobs += bytes([len(TOKEN)]) + TOKEN
    new, refs = {}, tables.rows[ASSEMBLY_REF]
    old = {i + 1 for i, row in enumerate(refs) if text_at(strings, row[6]) in FRAMEWORK}
    free = sorted(old)  # rows of the framework's assemblies are used again; no row is removed
    for name, version in NEW:
        row = [*version, 0, token, len(strings), 0, 0]
        strings += name.encode() + b"\0"
        if free:
            new[name] = free.pop(0)
            refs[new[name] - 1] = row
        else:
            refs.append(row)
            new[name] = len(refs)
    while free and free[-1] == len(refs):  # removes free rows at the end of the table
        refs.pop()
        free.pop()
    for row in free:  # other free rows become further references to netstandard
        refs[row - 1] = list(refs[new["netstandard"] - 1])
    for row in tables.rows[TYPE_REF]:
        if row[0] & 3 == 2 and row[0] >> 2 in old:
            kind = (text_at(strings, row[2]), text_at(strings, row[1]))
            row[0] = new["System.Memory" if kind in MEMORY else "netstandard"] << 2 | 2
    return strings, blobs


def read_streams(root):
    version = struct.unpack_from("<I", root, 12)[0]
    at = 16 + version
    head, count = root[:at + 2], struct.unpack_from("<H", root, at + 2)[0]
    at += 4
    streams = {}
    for _ in range(count):
        offset, size = struct.unpack_from("<II", root, at)
        end = root.index(b"\0", at + 8)
        streams[root[at + 8:end]] = root[offset:offset + size]
        at = (end + 4) & ~3
    return head, streams


def write_streams(head, streams):
    names = [n for n in STREAMS if n in streams]
    padded = {n: n + b"\0" * (4 - len(n) % 4) for n in names}
    offset = len(head) + 2 + sum(8 + len(padded[n]) for n in names)
    table, body = b"", b""
    for name in names:
        data = streams[name] + b"\0" * (-len(streams[name]) % 4)
        table += struct.pack("<II", offset + len(body), len(data)) + padded[name]
        body += data
    return head + struct.pack("<H", len(names)) + table + body


def main():
    with open(sys.argv[1], "rb") as file:
        image = bytearray(file.read())
    pe = struct.unpack_from("<I", image, 60)[0]
    sections, optional_size = struct.unpack_from("<H", image, pe + 6)[0], struct.unpack_from("<H", image, pe + 20)[0]
    optional = pe + 24
    table = optional + optional_size
    headers = [(*struct.unpack_from("<IIII", image, table + 40 * i + 8), table + 40 * i) for i in range(sections)]

    def place(rva):
        for size, address, raw_size, raw, _ in headers:
            if address <= rva < address + max(size, raw_size):
                return raw + rva - address
        sys.exit(f"netstandard.py: {sys.argv[1]} has no section at {rva}")

    cli = place(struct.unpack_from("<I", image, optional + 96 + 8 * 14)[0])
    metadata, size = struct.unpack_from("<II", image, cli + 8)
    head, streams = read_streams(bytes(image[place(metadata):place(metadata) + size]))
    tables = Tables(streams[b"#~"])
    streams[b"#Strings"], streams[b"#Blob"] = retarget(tables, streams[b"#Strings"].rstrip(b"\0") + b"\0", streams[b"#Blob"])
    streams[b"#~"] = tables.write()
    root = write_streams(head, streams)

    _, address, raw_size, raw, last = headers[-1]
    at = (raw_size + 3) & ~3
    image[raw + raw_size:] = b"\0" * (at - raw_size) + root
    alignment, file_alignment = struct.unpack_from("<II", image, optional + 32)
    image += b"\0" * (-(at + len(root)) % file_alignment)
    struct.pack_into("<I", image, last + 8, at + len(root))
    struct.pack_into("<I", image, last + 16, len(image) - raw)
    flags = struct.unpack_from("<I", image, last + 36)[0]
    struct.pack_into("<I", image, last + 36, flags & ~0x02000000)  # not discardable
    struct.pack_into("<I", image, optional + 56, (address + at + len(root) + alignment - 1) // alignment * alignment)
    struct.pack_into("<II", image, cli + 8, address + at, len(root))
    signature, signed = struct.unpack_from("<II", image, cli + 32)
    if signed:
        image[place(signature):place(signature) + signed] = bytes(signed)
    with open(sys.argv[2], "wb") as file:
        file.write(image)


if __name__ == "__main__":
    main()
