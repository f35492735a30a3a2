"""The part of PyPI's package gguf that ``poprt.frontend.gguf`` and its tests use, for machines without it.

Numbers are quantised as llama.cpp documents its blocks of 32: Q4_0 (d, 16 bytes), Q4_1 (d, m, 16 bytes) and Q8_0 (d, 32 bytes). Only
the frame of a file differs from the real format: it is a pickle, because the tests do not check how package gguf reads files."""

import enum
import pickle
import types

import numpy as np


class GGMLQuantizationType(enum.IntEnum):
    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q8_0 = 8
    BF16 = 30


def _halves(x):
    return x.astype(np.float16).view(np.uint8).reshape(*x.shape[:-1], -1)


def _floats(raw):
    return raw.copy().view(np.float16).astype(np.float32)


def _nibbles(numbers):
    return numbers[..., :16] | numbers[..., 16:] << 4


def quantize(value, kind):
    value = np.asarray(value, np.float32)
    if kind == GGMLQuantizationType.F32:
        return value
    if kind == GGMLQuantizationType.F16:
        return value.astype(np.float16)
    if kind == GGMLQuantizationType.BF16:
        return (value.view(np.uint32) + 0x8000 >> 16).astype(np.uint16).view(np.uint8)
    x = value.reshape(*value.shape[:-1], -1, 32)
    if kind == GGMLQuantizationType.Q8_0:
        d = np.abs(x).max(-1, keepdims=True) / 127
        parts = [_halves(d), np.rint(x / d).astype(np.int8).view(np.uint8)]
    elif kind == GGMLQuantizationType.Q4_0:
        d = np.take_along_axis(x, np.abs(x).argmax(-1)[..., None], -1) / -8
        parts = [_halves(d), _nibbles(np.clip(np.floor(x / d + 8.5), 0, 15).astype(np.uint8))]
    else:
        low, high = x.min(-1, keepdims=True), x.max(-1, keepdims=True)
        d = (high - low) / 15
        parts = [_halves(d), _halves(low), _nibbles(np.clip(np.floor((x - low) / d + 0.5), 0, 15).astype(np.uint8))]
    return np.concatenate(parts, -1).reshape(*value.shape[:-1], -1)


def dequantize(data, kind):
    if kind in (GGMLQuantizationType.F32, GGMLQuantizationType.F16):
        return np.asarray(data, np.float32)
    if kind == GGMLQuantizationType.BF16:
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    size = {GGMLQuantizationType.Q8_0: 34, GGMLQuantizationType.Q4_0: 18, GGMLQuantizationType.Q4_1: 20}[kind]
    raw = data.reshape(*data.shape[:-1], -1, size)
    d = _floats(raw[..., :2])
    if kind == GGMLQuantizationType.Q8_0:
        x = d * raw[..., 2:].view(np.int8)
    else:
        numbers = np.concatenate([raw[..., -16:] & 15, raw[..., -16:] >> 4], -1).astype(np.float32)
        x = d * (numbers - 8) if kind == GGMLQuantizationType.Q4_0 else d * numbers + _floats(raw[..., 2:4])
    return x.reshape(*data.shape[:-1], -1).astype(np.float32)


quants = types.SimpleNamespace(quantize=quantize, dequantize=dequantize)


class _Tensor:
    """A tensor as the reader returns it: its shape begins with the innermost dimension."""

    def __init__(self, name, data, kind):
        self.name, self.data, self.tensor_type = name, data, kind
        self.shape = np.array(dequantize(data, kind).shape[::-1], np.uint64)


class GGUFWriter:
    def __init__(self, path, architecture):
        self.path, self.fields, self.tensors = path, {"general.architecture": architecture}, []

    def add_uint32(self, key, value):
        self.fields[key] = value

    add_float32 = add_string = add_array = add_bool = add_uint32

    def add_tensor(self, name, data, raw_dtype=GGMLQuantizationType.F32):
        self.tensors.append((name, np.array(data), int(raw_dtype)))

    def write_header_to_file(self):
        with open(self.path, "wb") as file:
            file.write(b"GGUF" + pickle.dumps((self.fields, self.tensors)))

    def write_kv_data_to_file(self):
        """Does nothing, because the header contains the fields."""

    write_tensors_to_file = close = write_kv_data_to_file


class GGUFReader:
    def __init__(self, path):
        with open(path, "rb") as file:
            if file.read(4) != b"GGUF":
                raise ValueError("GGUF magic invalid")
            fields, tensors = pickle.load(file)
        self.fields = {key: types.SimpleNamespace(contents=lambda value=value: value) for key, value in fields.items()}
        self.tensors = [_Tensor(name, data, GGMLQuantizationType(kind)) for name, data, kind in tensors]
