"""Writes gfloat.txt: what gfloat (PyPI) computes for the two 8-bit formats of the IPU, which this file describes by the documents.
tests/core/base/chip_rounding_test.cpp compares every code and every conversion from a half with it.

Usage: make.py (needs gfloat and numpy)

  value FORMAT CODE NUMBER            the number of a code at scale 0, as a hexadecimal float or "nan"
  run FORMAT OVERFLOW HALF CODE       from this half on (by its bits, up to the next run) halves become this code at scale 0
  hash FORMAT OVERFLOW SCALE HASH     FNV-1a of the 65536 codes of all halves, by their bits

A number is divided by 2^SCALE before it is rounded, ties to even. OVERFLOW is "nan" or "largest". An infinite half is always NaN: the
documents demand it, and gfloat would saturate it."""

import os

import numpy as np
from gfloat import RoundMode, decode_ndarray, encode_ndarray, round_ndarray
from gfloat.types import Domain, FormatInfo

NAN = 0x80


def description(name, precision, bias):
    """8 bits, one NaN at negative zero, no infinity, subnormals."""
    return FormatInfo(name, 8, precision, bias=bias, is_signed=True, domain=Domain.Finite, has_nz=False, num_high_nans=0,
                      has_subnormals=True, is_twos_complement=False)


FORMATS = {"F143": description("F143", 4, 8), "F152": description("F152", 3, 16)}


def codes_of_halves(info, scale, saturates):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):
        scaled = np.ldexp(halves, -scale)
        rounded = round_ndarray(info, scaled, RoundMode.TiesToEven, saturates)
    finite = np.isfinite(halves) & np.isfinite(rounded)
    codes = np.full(1 << 16, NAN, np.uint8)
    codes[finite] = encode_ndarray(info, rounded[finite])
    return codes


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & (1 << 64) - 1
    return value


def main():
    lines = []
    for name, info in FORMATS.items():
        for code, value in enumerate(decode_ndarray(info, np.arange(256))):
            lines.append(f"value {name} {code:02x} {'nan' if np.isnan(value) else float(value).hex()}")
        for overflow in ("nan", "largest"):
            for scale in range(-32, 32):
                codes = codes_of_halves(info, scale, overflow == "largest")
                lines.append(f"hash {name} {overflow} {scale} {fnv(codes.tobytes()):016x}")
                if scale == 0:
                    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1)]
                    lines += [f"run {name} {overflow} {half:04x} {codes[half]:02x}" for half in starts]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "gfloat.txt"), "w", encoding="utf-8") as file:
        file.write("# Written by make.py with gfloat 0.5.2.\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
