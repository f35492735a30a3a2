"""Compiler: compiles ONNX models to executables or PopEF files."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from . import poprt_raw as _raw
from ._config import Config
from ._describe import DataDesc, describe_all
from ._estimate import Estimate
from ._keywords import keywords
from ._onnx import Proto
from ._popef.model import Model as _PopefModel
from .errors import CancelledError, InvalidArgumentError, UnimplementedError, _opening, _path

__all__ = ["Compiler", "CompilerOptions", "Executable"]

_WINOGRADS = {None: 0, "": 0, "off": 1, "exact": 2, "fast": 3}
_PRECISIONS = {None: 0, "": 0, "keep": 0, "fp32": 1, "fp16": 2}


# Fields of PopRT that are not passed to the library by name, because the library has separate functions for them or,
# for the progress bar, because they have no effect.
_HANDED_ON = {"enable_engine_caching", "cache_path", "constant_weights", "opaque_blobs",
              "show_compilation_progress_bar"}


@functools.lru_cache(maxsize=None)
def _fields_by_name() -> frozenset[str]:
    """Returns the other fields of PopRT, which the library takes by name, as --compiler_options does."""
    fields = json.loads(_raw.RawCompiler.list_options())["compiler_options"]
    return frozenset(field["name"] for field in fields) - _HANDED_ON


class CompilerOptions(Config):
    """PopRT's compiler options with its names and defaults, followed by additions.

    Options that tune the chip (tiles, memory proportions, exchange, outlining, streams) are stored in the PopEF file's
    metadata; the emulated IPU does not need them. ``options`` contains options of command poprt by name, as listed by
    ``list_options()``. ``num_ipus`` and ``virtual_graph_mode`` ("manual": the cut points of ``Sharder``; "auto")
    distribute the model over several emulated IPUs. With ``enable_pipelining``, they compute different requests at the
    same time. There is no progress bar, independent of ``show_compilation_progress_bar``;
    ``compilation_progress_logger`` is called with the progress in percent and 100. An exception in it or in
    ``after_pass``, and Ctrl-C, end a compilation after the current step, and no file is written.
    """

    num_ipus: int = 1
    ipu_version: str = ""
    batches_per_step: int = 1
    partials_type: str = "half"
    available_memory_proportion: float = 0.6
    num_io_tiles: int = 0
    enable_model_fusion: bool = False
    enable_prefetch_datastreams: bool = True
    stream_buffering_depth: int = 1
    enable_pad_conv_channel: bool = False
    serialize_ir: bool = False
    serialized_ir_dest: Union[str, os.PathLike[str]] = ""
    enable_gather_simplifier: bool = True
    engine_options: dict[str, str] = {}
    show_compilation_progress_bar: bool = True
    compilation_progress_logger: Optional[Callable[[int, int], Any]] = None
    custom_patterns: list[Any] = []
    custom_transform_applier_settings: dict[str, Any] = {}
    use_128bit_conv_unit_load: bool = False
    enable_multi_stage_reduce: bool = True
    enable_fast_reduce: bool = False
    enable_outlining: bool = True
    outline_threshold: float = 1.0
    group_host_sync: bool = False
    rearrange_streams_on_host: bool = False
    rearrange_anchors_on_host: bool = True
    enable_non_stable_softmax: bool = False
    enable_pipelining: bool = False
    subgraph_copying_strategy: int = 0
    virtual_graph_mode: str = "off"
    virtual_graph_split_ratios: list[float] = []
    time_limit_scheduler: float = 1e9
    swap_limit_scheduler: int = 10**9
    transitive_closure_optimization_threshold: int = 100000
    create_host_transferable_tensor_with_offset: bool = False
    enable_efficient_overlap_io_topo_cons: bool = False
    # <options:compile> made from capi/option_fields.toml by tests/lint/option_fields.py --write
    #: Shapes that fix the variable dimensions of inputs, by name. None given: the model's shapes. A list of shapes, or
    #: a list of dicts with a shape for each input, compiles the model at all of them. Since 0.1.
    input_shape: Union[dict[str, Any], list[dict[str, Any]]] = {}
    #: Number of elements of inputs that are sequences, by name; of an optional input 0 or 1. A sequence whose elements
    #: NAME[0], NAME[1] ... have shapes in the options does not need it. None given: the model's. Since 1.0.
    input_length: dict[str, int] = {}
    #: The largest fraction of a request's computation that may be padding, for example 0.2 and at most 0.9. If an input
    #: has several shapes, shapes between them are added until this holds. Weights are stored once for any number of
    #: shapes. 0: no shape is added. Since 1.0.
    max_padding: float = 0
    #: Batch size of every input. 0: the model's. Since 0.1.
    batch_size: int = 0
    #: The dimension that has the batch size. Since 0.1.
    batch_axis: int = 0
    #: The precision of floating-point tensors. Default: the model's types. "fp32" or "fp16". Since 0.1.
    precision: Optional[str] = ""
    #: Passes to run after the default ones, of ``list_passes()``. Since 0.1.
    passes: list[str] = []
    #: Passes to leave out, of ``list_passes()``. They also do not run in the compilation and if they are given as
    #: passes to run. Since 0.1.
    skip_passes: list[str] = []
    #: Whether to verify the graph after each pass. Since 0.1.
    verify: bool = True
    #: The largest constant that constant folding makes, in bytes. All constants together have a limit in any case. 0:
    #: only that limit. Since 0.1.
    max_tensor_size: int = 0
    #: The passes stop after this number of rewrites. A bisection of the limit finds the rewrite that makes a result
    #: wrong. 0: no limit. Since 0.1.
    rewrite_limit: int = 0
    #: Name of the last pass of the conversion to run. The passes that a compilation needs run in any case, up to this
    #: one in the stage that has it. "": all passes run. Since 0.1.
    stop_after: str = ""
    #: Whether to use the engine cache. A model is compiled once; later compilations map the file that the cache folder
    #: has under the hash of the model (including external data), the options and the version. If the file is damaged or
    #: has another content, the model is compiled again, with a warning in the log. A file of a user other than root and
    #: that of the process is not used, nor a folder to which every user can write, unless it is sticky: the model is
    #: compiled without the cache, with a warning. POPXL_CACHE_DIR or POPART_CACHE_DIR in the environment turns the
    #: cache on, too, and is the folder if none is given. Since 0.1.
    enable_engine_caching: bool = False
    #: Folder of the engine cache, which is created if it does not exist. "": POPXL_CACHE_DIR or POPART_CACHE_DIR from
    #: the environment, or session_cache. Since 0.1.
    cache_path: Union[str, os.PathLike[str]] = ""
    #: Off: named weights stay separate tensors, which ``Session.updateWeights`` replaces and the save programs return.
    #: Runs are slower, because such weights are not packed ahead of time. Since 0.1.
    constant_weights: bool = True
    #: Bytes that are stored in the PopEF file next to the executable, by name, for the program that runs it.
    #: HostConcatRunner reads "HostConcatRunnerConfig". Text, or bytes of any kind. Since 1.0.
    opaque_blobs: dict[str, Any] = {}
    #: A function that is called on the compiling thread after each pass. None: none. Called with name, rewrites,
    #: milliseconds, nodes before and after. Since 0.1.
    after_pass: Optional[Callable[[str, int, float, int, int], Any]] = None
    #: Opset of the converted model, 11 to 28. 0: the model's. Since 0.1.
    convert_version: int = 0
    #: Whether external data may be reached through symbolic and hard links, even if they lead out of the model's
    #: folder, as in some download caches. Use this only for trusted models. Since 0.1.
    allow_links: bool = False
    #: Whether to refuse a model that otherwise causes a warning in the log: an attribute that the operator does not
    #: have, or a domain without an opset import. Since 1.0.
    strict: bool = False
    #: The Winograd algorithm that may compute 3x3 convolutions in 32 bits instead of direct sums. Default: the one that
    #: keeps each layer within 1e-4 of exact sums. "off", "exact" (F(2x2)) or "fast" (also F(4x4)). Since 1.0.
    winograd: Optional[str] = ""
    #: Whether the PopEF file contains the ONNX model (including external data, at most 2 GiB), so that ``poprt_exec
    #: recompile`` needs no other file. Without it, the file contains only the path of the model. Since 1.0.
    embed_source: bool = False
    #: Options of the command poprt by name, without dashes; ``list_options()`` returns all of them, including those of
    #: the other fields. The value of a flag is "True" or "False"; commas separate names, line feeds separate words. An
    #: option that is not available fails with unimplemented. Options that tune a chip are stored in the metadata of the
    #: PopEF file. Since 1.0.
    options: dict[str, str] = {}
    #: How the ONNX model and its external data are read: "map" uses weights in memory maps of the files; "copy" copies
    #: them into memory. If a mapped file is truncated, the process receives SIGBUS; with "copy" this is an error. "":
    #: "map". Since 1.0.
    load: str = ""
    #: How a model with variable dimensions gets its shapes: "on_demand" compiles each shape when its first request
    #: arrives, and input_shape or batch_size is the shape that is compiled ahead; "buckets" compiles the shapes of
    #: input_shape and pads requests to them; "fixed" compiles one shape. "on_demand" needs a function that loads a
    #: model to run it: an ONNX file, or a PopEF file that was compiled with embed_source, which also has the other
    #: options. "": "buckets" if an input has several shapes; else "on_demand" for an ONNX model that is loaded to run
    #: it; else "fixed". Since 1.0.
    shapes: str = ""
    # </options:compile>

    def _check(self, name: str, value: Any) -> None:
        try:
            super()._check(name, value)
        except TypeError:
            if name not in _fields_by_name():  # the library checks the others
                raise

    def _raw_options(self, outputs: Iterable[str], keep: list[Any]) -> _raw.RawCompileOptions:
        if self.partials_type not in ("half", "float"):
            raise ValueError(f"partials_type must be 'half' or 'float', given {self.partials_type!r}")
        if self.precision not in _PRECISIONS:
            raise ValueError(f"precision must be 'fp32' or 'fp16', given {self.precision!r}")
        if self.winograd not in _WINOGRADS:
            raise ValueError(f"winograd must be 'off', 'exact' or 'fast', given {self.winograd!r}")
        raw = _raw.RawCompileOptions()
        with self._naming("input_shape"):
            for name, several in _shapes_by_name(self.input_shape).items():
                for one in several:
                    raw.add_input_shape(name, one, len(one))
        with self._naming("input_length"):
            for name, length in self.input_length.items():
                raw.add_input_length(name, length)
        with self._naming("batch_size"):
            raw.set_batch_size(self.batch_size, 0)
        with self._naming("batch_axis"):
            raw.set_batch_size(self.batch_size, self.batch_axis)
        raw.set_precision(_PRECISIONS[self.precision])
        raw.set_winograd(_WINOGRADS[self.winograd])
        raw.set_verify(bool(self.verify))
        raw.set_variable_weights(not self.constant_weights)
        for option, add in (("passes", raw.add_pass), ("skip_passes", raw.add_skip_pass)):
            with self._naming(option):
                for name in getattr(self, option):
                    add(name)
        puts: tuple[tuple[str, Callable[[Any], None]], ...] = (
            ("max_tensor_size", raw.set_max_tensor_size), ("rewrite_limit", raw.set_rewrite_limit),
            ("stop_after", raw.set_stop_after), ("load", raw.set_load), ("shapes", raw.set_shapes), ("convert_version", raw.set_convert_version))
        for option, put in puts:
            with self._naming(option):
                put(getattr(self, option))
        raw.set_allow_links(bool(self.allow_links))
        raw.set_strict(bool(self.strict))
        raw.set_max_padding(float(self.max_padding))
        raw.set_embed_source(bool(self.embed_source))
        named = self._named_options()
        with self._naming("options"):
            for name, value in named.items():
                raw.add_option(name, value)
        with self._naming("opaque_blobs"):
            for name, data in self.opaque_blobs.items():
                content = data.encode() if isinstance(data, str) else data
                raw.add_opaque_blob(name, *_raw.raw_address(content))
        for name in outputs or ():
            if not isinstance(name, str):
                raise TypeError(f"outputs: expected names, found {name!r}")
            raw.add_output(name)
        raw.set_engine_caching(bool(self.enable_engine_caching), os.fspath(self.cache_path))
        raw.set_stop(_raw.raw_stop_fn())
        logger, after_pass = self.compilation_progress_logger, self.after_pass
        if logger is not None or after_pass is not None:
            def listen(done: Any, *report: Any) -> None:
                if report and after_pass is not None:
                    after_pass(done, *report)
                elif not report and logger is not None:
                    logger(round(done * 100), 100)

            keep.append(listen)
            raw.set_callbacks(_raw.raw_progress_fn() if logger is not None else 0,
                              _raw.raw_pass_fn() if after_pass is not None else 0, _raw.raw_object_address(listen))
        return raw

    def _named_options(self) -> dict[str, str]:
        """Returns the options that the library takes by name: ``options``, in which ``compiler_options`` also contains
        PopRT's fields that do not have their default value."""
        named = {name: value if isinstance(value, str) else str(value) for name, value in self.options.items()}
        fields = [f"{name}={value}" for name, value in self.changed().items()
                  if name in _fields_by_name() and not (value in ("", [], {}) and type(value) is type(self._defaults[name]))]
        if fields:
            given = [named["compiler_options"]] if "compiler_options" in named else []
            named["compiler_options"] = "\n".join(given + fields)
        return named


Shapes = Union[str, Mapping[str, Any], Sequence[Mapping[str, Any]]]


def _shapes_by_name(given: Any) -> dict[str, list[list[int]]]:
    """Returns the shapes of each input: of a dict of name to a shape or a list of shapes, or of a list of dicts of name to
    shape, each of which is one set."""
    shapes: dict[str, list[list[int]]] = {}
    if not isinstance(given, Mapping):
        for one in given:
            for name, shape in one.items():
                shapes.setdefault(name, []).append(list(shape))
        for name, several in shapes.items():  # the same shape in all sets is one shape
            if all(shape == several[0] for shape in several) and len(given) == len(several):
                del several[1:]
            elif len(several) != len(given):
                raise InvalidArgumentError(f"input_shape: '{name}' has a shape in {len(several)} of {len(given)} sets")
        return shapes
    for name, shape in given.items():
        if isinstance(shape, str):
            raise TypeError(shape)
        shapes[name] = [list(one) for one in shape] if len(shape) and hasattr(shape[0], "__len__") else [list(shape)]
    return shapes


def shapes_text(given: Shapes) -> str:
    """Returns shapes in the form of the option ``input_shape``: a line ``NAME=d0,d1,.../d0,d1,...`` for each input."""
    if isinstance(given, str):
        return given
    try:
        return "\n".join(name + "=" + "/".join(",".join(str(int(size)) for size in shape) or "[]" for shape in several)
                         for name, several in _shapes_by_name(given).items())
    except InvalidArgumentError:  # a ValueError with a better text
        raise
    except (TypeError, AttributeError, ValueError):
        raise TypeError(f"expected a dict of input name to shape, or a list of them, found {given!r}") from None


def options_of(options: Union[CompilerOptions, Mapping[str, Any], None]) -> CompilerOptions:
    """Returns CompilerOptions, also from a dictionary of fields."""
    if options is None or isinstance(options, Mapping):
        return CompilerOptions.from_dict(dict(options or {}))
    if not isinstance(options, CompilerOptions):
        raise TypeError(f"options: expected CompilerOptions or a dict of its fields, found {options!r}")
    return options


class _Compilation:
    """One compiler with the objects that it needs, and the exceptions of its callbacks."""

    def __init__(self, outputs: Optional[Iterable[str]], options: Optional[CompilerOptions]):
        self._keep: list[Any] = []  # the raw options only have the address of the callback
        if outputs is not None and not isinstance(outputs, Iterable):
            raise TypeError(f"outputs: expected names, found {outputs!r}")
        names = [outputs] if isinstance(outputs, str) else outputs or ()
        self.raw = _raw.RawCompiler(options_of(options)._raw_options(names, self._keep))

    def __enter__(self) -> _raw.RawCompiler:
        return self.raw

    def __exit__(self, kind: object, error: Optional[BaseException], _: object) -> None:
        raised = _raw.raw_take_progress_error()
        if raised is not None:
            raise raised from None if isinstance(error, CancelledError) else error


def _refuse_path(data: Union[bytes, bytearray, memoryview]) -> None:
    """Raises an error for the path of a file as bytes, because bytes are the contents of a file."""
    text = bytes(data[:4096])
    if len(text) < 4096 and b"\0" not in text and (text.endswith((b".onnx", b".popef")) or os.path.isfile(text)):
        raise InvalidArgumentError(f"bytes are the contents of a file, given the path {text!r}: give it as a str or os.PathLike, for "
                                   "example os.fsdecode(path)")


class Executable:
    """A compiled model from the compiler, from a PopEF file, or from several files that form one model. If files
    contain several executables, ``executable`` is the name of the one to open. It has no effect on bytes and on a
    popef.Model. ``check_package_hash`` has no effect on bytes, whose version is always checked.

    Immutable: any number of runners and threads may use one. Closing it is optional, and runners continue to work. It
    is pickled for other processes as the bytes of a PopEF file; sending a path is cheaper.
    """

    def __init__(self, popef: Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]], bytes, bytearray, memoryview,
                                    "_PopefModel"], *, check_package_hash: bool = True, executable: str = ""):
        if isinstance(popef, (bytes, bytearray, memoryview)):
            _refuse_path(popef)
            address, size = _raw.raw_address(popef)
            self._raw: Optional[_raw.RawExecutable] = _raw.RawExecutable.open_bytes(address, size)
            return
        if hasattr(popef, "opaqueBlobs"):
            self._raw = Executable.from_model(popef, check_package_hash=check_package_hash)._open()  # type: ignore[arg-type]
            return
        if not isinstance(popef, (str, os.PathLike, Iterable)):
            raise TypeError(f"expected the path of a PopEF file, several of them or its bytes, found {type(popef).__name__}")
        several: list[Any] = [popef] if isinstance(popef, (str, os.PathLike)) else [*popef]
        if not all(isinstance(path, (str, os.PathLike)) for path in several):
            raise TypeError(f"expected paths of PopEF files, found {popef!r}")
        paths = [os.fspath(path) for path in several]
        options = _raw.RawOpenOptions()
        for path in paths:
            options.add_path(path)
        options.set_ignore_package_hash(not check_package_hash)
        options.set_executable(executable)
        with _opening(*paths):
            self._raw = _raw.RawExecutable.open_files(options)

    @classmethod
    def _own(cls, raw: _raw.RawExecutable) -> "Executable":
        made = cls.__new__(cls)
        made._raw = raw
        return made

    @classmethod
    def fuse(cls, executables: Iterable["Executable"]) -> "Executable":
        """Makes one executable of several: inputs and outputs of the first are called ``graph0/NAME``, of the second
        ``graph1/NAME`` and so on. Equal weights are stored once. A runner selects the model by the names of a request.
        Since 1.0."""
        parts, kept = _raw.RawExecutables(), [executable._open() for executable in executables]
        for raw in kept:
            parts.add(raw)
        return cls._own(_raw.RawExecutable.fuse(parts))

    @classmethod
    @keywords(options=CompilerOptions)
    def load(cls, path: Union[str, os.PathLike[str]], options: Optional[CompilerOptions] = None) -> "Executable":
        """Opens a PopEF file, or compiles an ONNX model with ``options``. The result is stored in ``cache_path``, else
        POPXL_CACHE_DIR or POPART_CACHE_DIR from the environment, else poprt in XDG_CACHE_HOME or ~/.cache, and later
        calls use it. If the model has variable dimensions, its shapes are compiled when a runner gets requests (option
        ``shapes``): then dimensions are -1 unless the options fix them. On a PopEF file, only custom_library_so_paths
        acts, and a warning in the log names the other options that only a compilation uses. With
        ``shapes="on_demand"``, the source in the file (``embed_source``) is compiled at other shapes, and only
        ``cache_path``, ``load``, custom_library_so_paths and ``compilation_progress_logger`` may be given. Since 1.0."""
        keep: list[Any] = []
        raw = options_of(options)._raw_options((), keep)
        path = _path("path", path)
        with _opening(path):
            try:
                return cls._own(_raw.RawExecutable.load(path, raw))
            finally:
                raised = _raw.raw_take_progress_error()
                if raised is not None:
                    raise raised

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the ONNX model: producer_name, producer_version, domain, model_version, doc_string,
        graph_name, graph.doc_string, and its metadata_props as prop.KEY. Since 1.0."""
        raw = self._open()
        return {raw.metadata_key(i): raw.metadata_value(i) for i in range(raw.metadata_count())}

    @classmethod
    def from_model(cls, model: "_PopefModel", *, check_package_hash: bool = True) -> "Executable":
        """Opens a model that was assembled from PopEF files. The files may be removed. Since 1.0."""
        options = _raw.RawOpenOptions()
        options.set_ignore_package_hash(not check_package_hash)
        return cls._own(_raw.RawExecutable.open_model(model._raw, options))

    def popef_model(self) -> "_PopefModel":
        """Returns the blobs as popef.Model: metadata, executable, data, opaque blobs. It is a copy if the executable
        came from the compiler, and it outlives the executable. Since 1.0."""
        return _PopefModel(self._open().popef_model())

    @property
    def name(self) -> str:
        return self._open().name()

    # <functions:executable> made from capi/functions.toml by tests/lint/functions.py --write
    @property
    def weights_bytes(self) -> int:
        """The size of the constants in bytes. Since 0.1."""
        return int(self._open().weights_bytes())

    @property
    def arena_bytes(self) -> int:
        """The size of the device memory that one run needs, in bytes. Since 0.1."""
        return int(self._open().arena_bytes())

    def listing(self) -> str:
        """The program as text for people. The format may change. Since 0.1."""
        return str(self._open().listing())

    def batching_refusal(self, dimension: int) -> str:
        """Why a runner refuses a batching dimension. The text is empty if requests with any number of rows along the
        dimension may share a batch, because no row changes the results of another. Raises InvalidArgumentError (the
        first input has no such dimension); FailedPreconditionError (the executable does not state it, because an
        earlier version compiled the model). Since 1.0."""
        return str(self._open().batching_refusal(dimension))

    def estimate(self) -> str:
        """What the model costs on a chip, as option ``estimate`` of the compiler stored it: a JSON object. Raises
        NotFoundError (the executable was compiled without the option). Since 1.0."""
        return str(self._open().estimate())
    # </functions:executable>

    def get_inputs(self) -> list[DataDesc]:
        return describe_all(self._open(), "input")

    def get_outputs(self) -> list[DataDesc]:
        return describe_all(self._open(), "output")

    def save(self, path: Union[str, os.PathLike[str]], variables_path: Union[str, os.PathLike[str], None] = None) -> None:
        """Writes a PopEF file, or the program and its weights as two files, each completely or not at all. Raises
        NotFoundError (the folder does not exist), PermissionDeniedError, ResourceExhaustedError (the disk is full) and
        InvalidArgumentError (both paths are one file)."""
        if variables_path is None:
            self._open().save(_path("path", path))
        else:
            self._open().save_parts(_path("path", path), _path("variables_path", variables_path))

    def to_bytes(self) -> bytes:
        """Returns the executable as the bytes of a PopEF file."""
        blob = self._open().save_bytes()
        data: bytes = _raw.raw_bytes(blob.address(), blob.bytes())
        return data

    def __reduce__(self) -> Any:
        return Executable, (self.to_bytes(),)

    def __copy__(self) -> "Executable":
        return Executable._own(self._open())

    def __deepcopy__(self, memo: Any) -> "Executable":
        return Executable._own(self._open())  # immutable

    def close(self) -> None:
        self._raw = None

    def _open(self) -> _raw.RawExecutable:
        if self._raw is None:
            raise ValueError("the executable is closed")
        return self._raw

    def __enter__(self) -> "Executable":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._raw is None:
            return "<Executable, closed>"
        inputs, outputs = (", ".join(map(repr, ds)) for ds in (self.get_inputs(), self.get_outputs()))
        return f"<Executable {self.name!r}: {inputs} -> {outputs}>"


Model = Union[str, os.PathLike[str], bytes, bytearray, memoryview, Proto]


class Compiler:
    """All methods are static. ``model`` is the path of an ONNX file; methods that compile also accept the bytes of a
    file or an ``onnx.ModelProto``. ``outputs`` contains the names of the outputs to keep; None keeps all."""

    def __repr__(self) -> str:
        return "<Compiler>"

    @staticmethod
    @keywords(options=CompilerOptions)
    def compile(model: Model, outputs: Optional[Iterable[str]] = None,
                options: Optional[CompilerOptions] = None) -> Executable:
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        if isinstance(model, (bytes, bytearray, memoryview)):
            _refuse_path(model)
            address, size = _raw.raw_address(model)
            with _Compilation(outputs, options) as compiler:
                return Executable._own(compiler.compile_bytes(address, size, ""))
        if not isinstance(model, (str, os.PathLike)):
            raise TypeError(f"expected an onnx.ModelProto, the path of a model or its bytes, found {type(model).__name__}")
        path = os.fspath(model)
        with _opening(path), _Compilation(outputs, options) as compiler:
            return Executable._own(compiler.compile_file(path))

    @staticmethod
    @keywords(options=CompilerOptions)
    def compile_and_export(model: Model, outputs: Optional[Iterable[str]], filename: Union[str, os.PathLike[str]],
                           options: Optional[CompilerOptions] = None) -> None:
        """Compiles into a PopEF file."""
        filename = _path("filename", filename)
        if not isinstance(model, (str, os.PathLike)):
            Compiler.compile(model, outputs, options).save(filename)
            return
        with _opening(os.fspath(model)), _Compilation(outputs, options) as compiler:
            compiler.compile_to_popef(os.fspath(model), filename)

    @staticmethod
    @keywords(options=CompilerOptions)
    def compile_and_get_summary_report(model: Model, outputs: Optional[Iterable[str]] = None,
                                       options: Optional[CompilerOptions] = None, reset_profile: bool = True) -> str:
        """Returns a text that describes the compiled executable. There is no execution profile to reset."""
        executable = Compiler.compile(model, outputs, options)
        lines = [f"{executable.name}: {executable.weights_bytes} bytes of weights, "
                 f"{executable.arena_bytes} bytes of device memory"]
        lines += [f"input {d!r}" for d in executable.get_inputs()] + [f"output {d!r}" for d in executable.get_outputs()]
        return "\n".join(lines) + "\n" + executable.listing()

    @staticmethod
    @keywords(options=CompilerOptions)
    def convert(model: Union[str, os.PathLike[str]], out: Union[str, os.PathLike[str]],
                outputs: Optional[Iterable[str]] = None, options: Optional[CompilerOptions] = None) -> None:
        """Converts an ONNX file to an ONNX file without compiling it."""
        model, out = _path("model", model), _path("out", out)
        with _opening(model), _Compilation(outputs, options) as compiler:
            compiler.convert_file(model, out)

    @staticmethod
    @keywords(options=CompilerOptions)
    def estimate(model: Union[str, os.PathLike[str]], outputs: Optional[Iterable[str]] = None,
                 options: Optional[CompilerOptions] = None) -> Estimate:
        """Estimates what an ONNX file costs on a chip. The option ``estimate_target`` selects the chip, without it
        ``ipu_version``, and without both the chip is c600. Files of external data may be missing. A model that does
        not fit is no error. Since 1.0."""
        model = _path("model", model)
        with _opening(model), _Compilation(outputs, options) as compiler:
            return Estimate(compiler.estimate_file(model))

    @staticmethod
    def fuse(models: Iterable[Union[str, os.PathLike[str]]], out: Union[str, os.PathLike[str]]) -> None:
        """Writes several ONNX models as one. Compiling the result is equivalent to ``Executable.fuse``.
        (``MFConverter`` fuses models in memory.) Since 1.0."""
        files = _raw.RawOpenOptions()
        for model in models:
            files.add_path(_path("models", model))
        _raw.RawCompiler.fuse_files(files, _path("out", out))

    @staticmethod
    def show(model: Union[str, os.PathLike[str]]) -> str:
        """Returns name, type and shape of every input and output of an ONNX file, one line each, without conversion.
        A variable dimension has its name, or ``?`` if it has none."""
        model = _path("model", model)
        with _opening(model), _Compilation(None, None) as compiler:
            return compiler.show_file(model)

    @staticmethod
    def io_statistics(model: Union[str, os.PathLike[str]]) -> str:
        """Returns the number of inputs and outputs of an ONNX file for each type and shape, one line each. A variable
        dimension has its name, or ``?`` if it has none. Since 1.0."""
        model = _path("model", model)
        with _opening(model), _Compilation(None, None) as compiler:
            return compiler.io_stat_file(model)

    @staticmethod
    def list_passes() -> str:
        return _raw.RawCompiler.list_passes()

    @staticmethod
    def list_ops() -> str:
        return _raw.RawCompiler.list_ops()

    @staticmethod
    def list_options() -> str:
        """Returns all options by name as JSON. Since 1.0."""
        return _raw.RawCompiler.list_options()
