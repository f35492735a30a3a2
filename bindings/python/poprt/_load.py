"""Checks that the loaded library is compatible with this package, and makes its objects refuse copies."""

from typing import Any

from . import poprt_raw as _raw


def check_version() -> None:
    built, found = _raw.raw_header_version(), _raw.raw_version()
    if not _raw.raw_version_fits(built, found):
        raise ImportError(f"poprt was built for libpoprt {built // 1000000}.{built // 1000 % 1000} but found "
                          f"{_raw.raw_version_string()}: is another one on LD_LIBRARY_PATH?")


def of_this_process(value: Any) -> TypeError:
    """Returns the error of pickling or copying such an object."""
    name = type(value).__name__.removeprefix("Raw")
    return TypeError(f"a{'n' * (name[0] in 'AEIOU')} {name} belongs to this process and can neither be pickled nor copied; pass the "
                     "path of the PopEF file, or the Executable, and make another one there")


def _refuse(self: Any, protocol: Any) -> Any:
    raise of_this_process(self)


def refuse_copies() -> None:
    """The raw objects inside the classes of this package refuse copies, so all classes do."""
    for kind in vars(_raw).values():
        if isinstance(kind, type) and kind.__name__.startswith("Raw"):
            setattr(kind, "__reduce_ex__", _refuse)
