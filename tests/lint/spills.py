"""The sums of the hot loops of products stay in registers.

    spills.py OBJDUMP OBJECT_FOLDER ...

An OBJECT_FOLDER has the objects of core/kernels/isa for one instruction set. A hot loop is an innermost loop with at least
eight multiply-adds of vectors. A tile with more sums than registers still compiles and gives the right results, but its loop
stores and loads sums on the stack, which halves its speed."""

import os
import re
import subprocess
import sys

import tree

# Files and their functions whose loops are tiles of sums.
TILES = {"attention": re.compile(r"::rows_by_panel\("), "conv_tile": re.compile(r"::(blocked|plane|wide)<"),
         "gemm": re.compile(r"::tile<")}
# Loops of this many multiply-adds are tiles; shorter ones are tails.
LEAST = 8
# A loop may have one access to the stack (an address, an operand that is broadcast) for so many multiply-adds.
SUMS_PER_ACCESS = 5
# These expressions match the output of GNU's and LLVM's objdump.
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\s+([a-z]\S+)\s*(.*)$")
JUMP = re.compile(r"^(?:0x)?([0-9a-f]+) <")
STACK = re.compile(r"\(%r[sb]p")
VECTOR = re.compile(r"%[yz]mm")


def functions(text):
    """Yields the name and the instructions (address, mnemonic, operands) of each function."""
    name, body = None, []
    for line in text.splitlines():
        if line.endswith(">:"):
            if body:
                yield name, body
            name, body = line.split("<", 1)[1][:-2], []
        elif found := INSTRUCTION.match(line):
            body.append((int(found[1], 16), found[2], found[3]))
    if body:
        yield name, body


def innermost_loops(body):
    """Yields the instructions of each loop that contains no other loop."""
    index = {address: i for i, (address, _, _) in enumerate(body)}
    loops = []
    for i, (address, mnemonic, operands) in enumerate(body):
        target = JUMP.match(operands) if mnemonic.startswith("j") else None
        if target and int(target[1], 16) <= address and int(target[1], 16) in index:
            loops.append((index[int(target[1], 16)], i))
    for first, last in loops:
        if not any((a, b) != (first, last) and first <= a and b <= last for a, b in loops):
            yield body[first:last + 1]


def spills(body):
    """Yields the numbers of multiply-adds and of accesses to the stack of each loop that has too many of the latter."""
    for loop in innermost_loops(body):
        sums = sum(mnemonic.startswith(("vfmadd", "vdpbf16ps")) and mnemonic.endswith(("ps", "pd")) for _, mnemonic, _ in loop)
        stack = sum(bool(STACK.search(operands) and VECTOR.search(operands)) for _, _, operands in loop)
        if sums >= LEAST and stack * SUMS_PER_ACCESS > sums:
            yield sums, stack


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    problems, checked = [], 0
    for folder in sys.argv[2:]:
        for stem, tiles in TILES.items():
            path = os.path.join(folder, f"{stem}.cpp.o")
            text = subprocess.run([sys.argv[1], "-d", "-C", "--no-show-raw-insn", path], check=True, stdout=subprocess.PIPE,
                                  text=True).stdout
            for name, body in functions(text):
                if not tiles.search(name):
                    continue
                checked += 1
                for sums, stack in spills(body):
                    problems.append(f"{path}: {name[:120]}: a loop of {sums} multiply-adds has {stack} accesses to the stack; "
                                    "make the tile smaller")
    if not checked:
        problems.append("no function was found")
    tree.finish(problems, checked, "functions")


if __name__ == "__main__":
    main()
