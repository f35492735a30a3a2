"""Writes small ONNX models without the onnx package."""

import struct

F32, S32, S64, BOOL, F16, BF16 = 1, 6, 7, 9, 10, 16


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    """A field of bytes: a message, or text."""
    content = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def value(name, dtype, shape):
    """A ValueInfoProto; words in the shape are variable dimensions."""
    dims = b"".join(message(1, message(2, d) if isinstance(d, str) else number(1, d)) for d in shape)
    return message(1, name) + message(2, message(1, number(1, dtype), message(2, dims)))


def attribute(key, value):
    """An integer, a float, a text, a list of integers or of floats, or the bytes of a graph."""
    if isinstance(value, bytes):
        typed = [message(6, value), number(20, 5)]
    elif isinstance(value, str):
        typed = [message(4, value), number(20, 3)]
    elif isinstance(value, float):
        typed = [varint(2 << 3 | 5), struct.pack("<f", value), number(20, 1)]
    elif isinstance(value, list) and isinstance(value[0], float):
        typed = [*[varint(7 << 3 | 5) + struct.pack("<f", v) for v in value], number(20, 6)]
    elif isinstance(value, list):
        typed = [*[number(8, v) for v in value], number(20, 7)]
    else:
        typed = [number(3, value), number(20, 2)]
    return message(5, message(1, key), *typed)


def node(op_type, inputs, outputs, domain="", **attributes):
    attributes = b"".join(attribute(k, v) for k, v in attributes.items())
    return message(1, *[message(1, i) for i in inputs], *[message(2, o) for o in outputs], message(3, "node_" + outputs[0]),
                   message(4, op_type), attributes, *([message(7, domain)] if domain else []))


def floats(name, shape, values):
    """An initialiser."""
    return message(5, *[number(1, d) for d in shape], number(2, F32), message(8, name),
                   message(9, struct.pack(f"<{len(values)}f", *values)))


def graph(nodes, inputs, outputs, initializers=()):
    return b"".join([*nodes, message(2, "graph"), *initializers,
                     *[message(11, i) for i in inputs], *[message(12, o) for o in outputs]])


def model(nodes, inputs, outputs, initializers=(), opset=17, domains=()):
    return number(1, 8) + message(7, graph(nodes, inputs, outputs, initializers)) + message(8, message(1, ""), number(2, opset)) + \
        b"".join(message(8, message(1, domain), number(2, 1)) for domain in domains)
