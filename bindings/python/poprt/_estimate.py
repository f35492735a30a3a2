"""Estimates of the cost of a model on a real IPU."""

from typing import Optional

from . import poprt_raw as _raw

__all__ = ["Estimate"]


class Estimate:
    """Cycles, memory of the tiles, and whether a model fits, from ``Compiler.estimate``. An estimate reads no value of a
    tensor and measures nothing. Immutable; closing it is optional. Since 1.0."""

    def __init__(self, raw: _raw.RawEstimate):
        self._raw: Optional[_raw.RawEstimate] = raw

    # <functions:estimate> made from capi/functions.toml by tests/lint/functions.py --write
    def target(self) -> str:
        """The name of the chip. Since 1.0."""
        return str(self._open().target())

    @property
    def cycles(self) -> int:
        """The cycles of the device for one batch. Since 1.0."""
        return int(self._open().cycles())

    @property
    def samples(self) -> int:
        """The number of samples of one batch. Since 1.0."""
        return int(self._open().samples())

    @property
    def milliseconds(self) -> float:
        """The time of the device for one batch. Since 1.0."""
        return float(self._open().milliseconds())

    @property
    def period_milliseconds(self) -> float:
        """The time from batch to batch in the steady state, with the transfers of the host. Since 1.0."""
        return float(self._open().period_milliseconds())

    @property
    def latency_milliseconds(self) -> float:
        """The time of a batch that runs alone, with the transfers of the host. Since 1.0."""
        return float(self._open().latency_milliseconds())

    @property
    def host_milliseconds(self) -> float:
        """The time of the transfers of one batch between the host and the chip. Since 1.0."""
        return float(self._open().host_milliseconds())

    @property
    def throughput(self) -> float:
        """The samples per second in the steady state. Since 1.0."""
        return float(self._open().throughput())

    @property
    def utilization(self) -> float:
        """The fraction of the largest number of half-precision products that the chip could compute in the same cycles.
        Since 1.0."""
        return float(self._open().utilization())

    @property
    def tile_bytes(self) -> int:
        """The bytes that the busiest tile needs, with gaps between its variables. Since 1.0."""
        return int(self._open().tile_bytes())

    @property
    def available_bytes(self) -> int:
        """The bytes of a tile of the chip. Since 1.0."""
        return int(self._open().available_bytes())

    @property
    def fits(self) -> bool:
        """Whether the memory of every tile suffices, and the host has room for the buffers of every stream.
        Since 1.0."""
        return bool(self._open().fits())

    def cycle_quality(self) -> str:
        """How well the cycles are known: calibrated, checked or unchecked, and the error that was measured for programs
        of this class. Since 1.0."""
        return str(self._open().cycle_quality())

    def memory_quality(self) -> str:
        """How well the bytes are known: calibrated, checked or unchecked, and the error that was measured.
        Since 1.0."""
        return str(self._open().memory_quality())

    def host_quality(self) -> str:
        """How well the times of the host are known: calibrated, checked or unchecked, and the error that was measured.
        Since 1.0."""
        return str(self._open().host_quality())

    def json(self) -> str:
        """All numbers of the estimate as a JSON object, the output of ``poprt_exec estimate --json --verbose``. Later
        versions may add keys. Since 1.0."""
        return str(self._open().json())

    def report(self) -> str:
        """The estimate as text for people. The format may change. Since 1.0."""
        return str(self._open().report())

    def svg(self) -> str:
        """A picture as SVG: memory by tile, memory over time, phases of the operations, and cycles by operator.
        Since 1.0."""
        return str(self._open().svg())
    # </functions:estimate>

    def close(self) -> None:
        self._raw = None

    def _open(self) -> _raw.RawEstimate:
        if self._raw is None:
            raise ValueError("the estimate is closed")
        return self._raw

    def __enter__(self) -> "Estimate":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._raw is None:
            return "<Estimate, closed>"
        return f"<Estimate: {self.cycles} cycles, {'fits' if self.fits else 'does not fit'}>"
