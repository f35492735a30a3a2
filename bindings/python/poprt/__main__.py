"""``python -m poprt`` is the command poprt."""

from ._commands import poprt

if __name__ == "__main__":
    poprt()
