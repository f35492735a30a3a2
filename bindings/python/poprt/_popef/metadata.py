"""Converts metadata from and to the raw layer. The numbers are those of poprt/popef_metadata.h."""

from __future__ import annotations

from typing import Iterable, Union

from .. import errors as _errors
from .. import poprt_raw as _raw
from .._describe import DataType
from .types import Anchor, Metadata, Option, TensorInfo, TensorType

_OPTION_LISTS = {"EngineOptions": 1, "DeviceOptions": 2}
_FLOWS = {"Load": 1, "Main": 2, "Save": 3}


def _getter(name: str) -> str:
    return name[0].lower() + name[1:]


def tensor_info(raw: Union[_raw.RawPopefAnchor, _raw.RawPopefBlob]) -> TensorInfo:
    return TensorInfo(DataType(raw.dtype()), [raw.dimension(i) for i in range(raw.rank())])


def _anchor(raw: _raw.RawPopefAnchor) -> Anchor:
    return Anchor(raw.name(), raw.handle(), tensor_info(raw), TensorType(raw.anchor_type()),
                  [raw.program(i) for i in range(raw.program_count())], raw.is_per_replica())


# tests/lint/popef_fields.py generates these from core/popef/metadata.toml.
# <popef:copies>
def _read_fields(metadata: Metadata, raw: _raw.RawPopefMetadata) -> None:
    metadata.setExecutable(raw.executable())
    metadata.setReplicationFactor(raw.field(1))
    metadata.setNumIpus(raw.field(2))
    metadata.setIpuVersion(raw.field(3))
    metadata.setIsPOD(bool(raw.field(4)))
    metadata.setNumProcesses(raw.field(5))
    metadata.setIsInference(bool(raw.field(6)))
    metadata.setDeviceIterations(raw.field(7))
    metadata.setSeedHandle(raw.seed_handle())


def _write_fields(metadata: Metadata, raw: _raw.RawPopefMetadata) -> None:
    raw.set_executable(metadata.executable())
    raw.set_field(1, int(metadata.replicationFactor()))
    raw.set_field(2, int(metadata.numIpus()))
    raw.set_field(3, int(metadata.ipuVersion()))
    raw.set_field(4, int(metadata.isPOD()))
    raw.set_field(5, int(metadata.numProcesses()))
    raw.set_field(6, int(metadata.isInference()))
    raw.set_field(7, int(metadata.deviceIterations()))
    raw.set_seed_handle(metadata.seedHandle())
# </popef:copies>


def from_raw(raw: _raw.RawPopefMetadata) -> Metadata:
    """Copies everything."""
    metadata = Metadata()
    _read_fields(metadata, raw)
    for name, which in _OPTION_LISTS.items():
        getattr(metadata, "set" + name)(Option(raw.option_name(which, i), raw.option_value(which, i))
                                        for i in range(raw.option_count(which)))
    for name, flow in _FLOWS.items():
        programs = [raw.flow_program(flow, i) for i in range(raw.flow_count(flow))]
        getattr(metadata.programFlow(), "set" + name)(programs)
    metadata.setProgramsMap({raw.program_index(i): raw.program_name(i) for i in range(raw.program_count())})
    metadata.setAnchors([_anchor(raw.anchor(i)) for i in range(raw.anchor_count())])
    return metadata


def _programs(indices: Iterable[int]) -> list[int]:
    """Checks that indices of programs have 32 bits."""
    programs = list(indices)
    for program in programs:
        if not 0 <= program <= 0xFFFFFFFF:
            raise _errors.InvalidArgumentError(f"no program can have index {program}")
    return programs


def to_raw(metadata: Metadata) -> _raw.RawPopefMetadata:
    raw = _raw.RawPopefMetadata()
    _write_fields(metadata, raw)
    for name, which in _OPTION_LISTS.items():
        for option in getattr(metadata, _getter(name))():
            raw.add_option(which, option.name(), option.value())
    for name, flow in _FLOWS.items():
        programs = _programs(getattr(metadata.programFlow(), _getter(name))())
        raw.set_flow(flow, programs, len(programs))
    for program, text in metadata.programsMap().items():
        raw.set_program(_programs([program])[0], text)
    for anchor in metadata.anchors():
        info = anchor.tensorInfo()
        given = _raw.RawPopefAnchor(anchor.name(), anchor.handle(), anchor.type())
        given.set_tensor(info.dataType(), info.shape(), len(info.shape()))
        programs = _programs(anchor.programs())
        given.set_programs(programs, len(programs))
        given.set_is_per_replica(bool(anchor.isPerReplica()))
        raw.add_anchor(given)
    return raw
