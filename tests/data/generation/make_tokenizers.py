"""Makes the tokenizers of the folder tokenizers: python3 make_tokenizers.py, with Debian's package sentencepiece.

* words.model has as many tokens as the models of make.py: letters and a few words, and no bytes;
* bytes.model also has a token for each byte, for characters that are no token.

expected.json contains the tokens and texts that spm_encode and spm_decode give.
"""

import json
import os
import struct
import subprocess

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizers")
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
SPECIAL = [("<unk>", 0, UNKNOWN), ("<s>", 0, CONTROL), ("</s>", 0, CONTROL)]
LETTERS = [(letter, -9, NORMAL) for letter in "\u2581abcdefghijklmnopqrstuvwxyz"]
WORDS = [(word.replace("_", "\u2581"), -3 - i / 8, NORMAL) for i, word in enumerate(
    "_the _a ing er _cat _dog _sat _on _mat _is _in th he an re on at _w _s _c . , !".split())]
TEXTS = ["the cat sat on the mat", "a dog is in the mat, on the cat!", "singing", "  two  spaces ", "", "x", "caf\u00e9 \u20ac5 \U0001f600!"]


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def model(pieces, byte_fallback):
    """A ModelProto of sentencepiece_model.proto: a unigram model that changes no character of a text."""
    out = b""
    for piece, score, kind in pieces:
        out += data(1, data(1, piece.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + number(3, kind))
    trainer = number(3, 1) + number(4, len(pieces)) + number(35, int(byte_fallback))
    trainer += number(40, 0) + number(41, 1) + number(42, 2) + number(43, (1 << 64) - 1)
    normalizer = data(1, b"identity") + number(3, 1) + number(4, 1) + number(5, 1)
    return out + data(2, trainer) + data(3, normalizer)


def run(program, name, text, *options):
    output = subprocess.run([program, f"--model={HERE}/{name}.model", *options], input=text + "\n", capture_output=True, check=True,
                          text=True).stdout
    return output.removesuffix("\n")


def main():
    os.makedirs(HERE, exist_ok=True)
    raw = [(f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)]
    expected = {}
    for name, pieces in (("words", SPECIAL + LETTERS + WORDS), ("bytes", SPECIAL + raw + LETTERS + WORDS)):
        with open(f"{HERE}/{name}.model", "wb") as file:
            file.write(model(pieces, name == "bytes"))
        expected[name] = {"size": len(pieces), "texts": []}
        for text in TEXTS:
            ids = [int(word) for word in run("spm_encode", name, text, "--output_format=id").split()]
            decoded = run("spm_decode", name, " ".join(map(str, ids)), "--input_format=id")
            expected[name]["texts"].append({"text": text, "tokens": ids, "decoded": decoded})
    with open(f"{HERE}/expected.json", "w", encoding="utf-8") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
