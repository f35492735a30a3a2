"""Checks that the library that was found keeps what this package was built with."""

from . import poprt_raw as _raw


def check_version() -> None:
    built, found = _raw.raw_header_version(), _raw.raw_version()
    if not _raw.raw_version_fits(built, found):
        raise ImportError(f"poprt was built for libpoprt {built // 1000000}.{built // 1000 % 1000} but found "
                          f"{_raw.raw_version_string()}: is another one on LD_LIBRARY_PATH?")
