"""Computes the utilisation of a chip: TFLOPS = flops / (cycles / clock * 1e12 * IPUs).

    calc_ipu_utilization.py --cycles 1000000 --flops 4e9 --platform C600
    """

import argparse

CLOCKS = {"C600": 1.5e9, "M2000": 1.33e9, "Bow2000": 1.85e9}  # Hz


def tflops(cycles, flops, num_ipus, platform):
    """Returns 10^12 operations per second for each IPU."""
    return flops / (cycles / CLOCKS[platform] * 1e12 * num_ipus)


def above_zero(text):
    """Returns the number in the text. Raises an error, which argparse reports, if it is not a positive finite number."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, found '{text}'")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-c", "--cycles", type=above_zero, required=True, help="of one inference")
    parser.add_argument("-f", "--flops", type=above_zero, required=True, help="of one inference (poprt_exec flops counts them)")
    parser.add_argument("-n", "--num_ipus", type=above_zero, default=1)
    parser.add_argument("-p", "--platform", choices=list(CLOCKS), default="C600")
    words = parser.parse_args()
    print(f"{tflops(words.cycles, words.flops, words.num_ipus, words.platform):.6g} TFLOPS")


if __name__ == "__main__":
    main()
