"""Prints the inputs and outputs of a PopEF file.

    anchors.py MODEL.popef
    """

import sys

import popef


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    reader = popef.Reader()
    reader.parseFile(sys.argv[1])
    for model in popef.ModelBuilder(reader).createModels():
        for kind, anchors in (("input", model.getUserInputAnchors()), ("output", model.getUserOutputAnchors())):
            for anchor in anchors:
                info = anchor.tensorInfo()
                shape = ",".join(str(d) for d in info.shape())
                print(f"{kind} {anchor.name()} {info.dataType().name.lower()} [{shape}] {info.sizeInBytes()} bytes")


if __name__ == "__main__":
    main()
