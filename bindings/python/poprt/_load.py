"""Checks that the library that was found is the one that this package was built for."""

from . import poprt_raw as _raw


def check_version() -> None:
    built, found = _raw.raw_header_version(), _raw.raw_version()
    # Minor versions may differ while the major version is 0 only in what they promise: see capi/ABI.md.
    if built // 1000 != found // 1000:
        raise ImportError(f"poprt was built for libpoprt {built // 1000000}.{built // 1000 % 1000} but found "
                          f"{_raw.raw_version_string()}: is another one on LD_LIBRARY_PATH?")
