"""Writes image files and, as NAME.rgb, their pixels as Pillow reads them: ONNX's own test data (Python package onnx 1.17
or newer). The lossless formats hold the image of checkerboard.rgb.

    python3 make.py"""

import os

from onnx.backend.test.case.node import _image_decoder_data as vectors

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"bmp": "bmp", "jpeg": "jpeg", "jpeg2k": "jp2", "png": "png", "pnm": "ppm", "tiff": "tiff", "webp": "webp"}


def write(name, array):
    with open(os.path.join(HERE, name), "wb") as file:
        file.write(array.tobytes())


def main():
    board = vectors.image_decoder_decode_png_rgb.output
    write("checkerboard.rgb", board)
    for name, ending in NAMES.items():
        vector = getattr(vectors, f"image_decoder_decode_{name}_rgb")
        write(f"checkerboard.{ending}", vector.data)
        if (vector.output != board).any():
            write(f"checkerboard.{ending}.rgb", vector.output)


if __name__ == "__main__":
    main()
