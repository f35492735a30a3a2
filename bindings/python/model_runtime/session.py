"""Sessions: a model on a device whose inputs and outputs use handlers or queues.

>>> session = model_runtime.Session("model.popef")
>>> queues = session.createQueueManager()
>>> done = queues.inputQueue("image").enqueue(image), queues.outputQueue("scores").enqueue(scores)
>>> session.runMainPrograms()
"""

from __future__ import annotations

import contextlib
import datetime
import enum
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Sequence, Union

import numpy as np
import popef
from poprt import poprt_raw as _raw
from poprt._config import Config
from poprt._convert import whole
from poprt._describe import DataDesc, DataType, describe_all
from poprt._keywords import keywords
from poprt._runner_config import nanoseconds
from poprt.compiler import Executable
from poprt.errors import InvalidArgumentError

from . import _callbacks
from ._wait import DeviceWaitConfig, DeviceWaitStrategy
from .predicate_factory import AnchorCallbackPolicy, AnchorCallbackPredicate, anchor_callbacks
from .queues import InputQueue, QueueManager, Queues

if TYPE_CHECKING:
    from poprt.runtime import Device

__all__ = ["LaunchPolicy", "Model", "Session", "SessionConfig"]


class LaunchPolicy(enum.Enum):
    Immediate = 0  #: the device is acquired when the session is made
    Deferred = 1  #: at bindToDevice or the first run


class SessionConfig(Config):
    """Options of a session. Without predicates, the caller serves the anchors without data that belong to a main
    program or to no program."""

    input_predicate: Optional[Callable[..., Any]] = None
    output_predicate: Optional[Callable[..., Any]] = None
    # <options:session> made from capi/option_fields.toml by tests/lint/option_fields.py --write
    #: When the device is acquired: when the session is created, or deferred until it is bound or runs for the first
    #: time. Since 0.1.
    policy: LaunchPolicy = LaunchPolicy.Immediate
    #: How long to wait while no device is free. Default: fail at once. Since 0.1.
    wait_config: DeviceWaitConfig = DeviceWaitConfig()
    #: The device to run on. None: any free device that fits the executable. Since 0.1.
    device: Optional[Device] = None
    #: Whether files that another version compiled are refused. Since 0.1.
    check_package_hash: bool = True
    #: Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment, or all CPUs. Since
    #: 0.1.
    threads: int = 0
    #: Whether to measure the time of every instruction, which ``profile()`` returns. Runs are slower. Since 0.1.
    profile: bool = False
    #: Whether other sessions are refused the device. Otherwise the next session that binds the device unloads this one.
    #: Since 0.1.
    exclusive: bool = False
    #: Whether to publish the session's activity, as POPRT_TELEMETRY=1 does; see ``model_runtime.read_telemetry``. Since
    #: 0.1.
    telemetry: bool = False
    # </options:session>
    _aliases = {"waitConfig": "wait_config", "checkPackageHash": "check_package_hash"}


class Model:
    """The model of a session."""

    def __init__(self, metadata: popef.Metadata):
        self.metadata = metadata

    def __repr__(self) -> str:
        return f"<Model {self.metadata.executable()!r}>"


class Session:
    """A model on a device, whose programs the caller runs. ``ModelRunner`` is simpler.

    ``popef`` is a path, a list of paths that form one model, a popef.Model, or an Executable. Any thread may use a
    session. Runs, loading and changes of handlers wait for each other. Handlers are called on the thread that runs
    programs, and the run raises their exceptions; ``setUserInputHandler`` names the exceptions to this. Handlers must
    not call the session, except ``stop``. A session that is not exclusive loses its device to the next one that binds
    it, and then fails with FailedPreconditionError until ``reload`` or ``bindToDevice``.
    """

    _raw: Any = None  # if the constructor fails

    @keywords(config=SessionConfig)
    def __init__(self, popef: Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]], Executable, "popef.Model"],
                 config: Optional[SessionConfig] = None):
        config = config or SessionConfig()
        executable = popef if isinstance(popef, Executable) else Executable(
            popef, check_package_hash=config.check_package_hash)
        self._executable = executable._open()  # it may be closed afterwards
        self._anchors = (executable.get_inputs(), executable.get_outputs())
        self._model: Optional[Model] = None
        self._lock = threading.Lock()
        self._users = 0
        self._closed = False
        self._changing = threading.Lock()
        self._streams: dict[tuple[str, bool], _callbacks.Stream] = {}
        self._queues: Optional[Queues] = None
        options = _raw.RawSessionOptions()
        options.set_threads(config.threads)
        options.set_profile(bool(config.profile))
        options.set_deferred(config.policy == LaunchPolicy.Deferred)
        options.set_exclusive(bool(config.exclusive))
        options.set_telemetry(bool(config.telemetry))
        wait = config.wait_config
        strategy = wait.strategy.value if isinstance(wait.strategy, DeviceWaitStrategy) else wait.strategy
        options.set_wait(strategy, int(wait.timeout.total_seconds() * 1e9), int(wait.sleepTime.total_seconds() * 1e9))
        device = config.device._open() if config.device is not None else None
        if device is not None:
            options.set_device(device)
        asked = None
        if config.input_predicate or config.output_predicate:
            asked = _callbacks.PredicateCall(config.input_predicate or self._default(),
                                     config.output_predicate or self._default())
            options.set_predicate(_callbacks.FNS[_callbacks.ACCEPTS], _callbacks.target(asked))
        try:
            self._raw = raw = _raw.RawSession(self._executable, options)
        finally:
            _callbacks.raise_pending()
        del asked, device
        self._inputs = describe_all(raw, "user_input")
        self._outputs = describe_all(raw, "user_output")

    def _default(self) -> AnchorCallbackPredicate:
        flow = self.model().metadata.programFlow()
        accept, reject = AnchorCallbackPolicy.BIND_USER_CB, AnchorCallbackPolicy.BIND_EMPTY_CB
        return anchor_callbacks.orBind(accept, reject, anchor_callbacks.predProgramFlowMain(flow),
                                       anchor_callbacks.predProgramNotAssigned())

    @contextlib.contextmanager
    def _using(self) -> Iterator[Any]:
        """Keeps the raw session alive: it is freed when it is closed and no call uses it, independent of Python's
        frames."""
        with self._lock:
            if self._closed:
                raise ValueError("the session is closed")
            self._users += 1
        try:
            yield self._raw
        finally:
            with self._lock:
                self._users -= 1
            self._free_if_unused()

    def _free_if_unused(self) -> None:
        with self._lock:
            if not self._closed or self._users or self._raw is None:
                return
            raw, self._raw = self._raw, None
        _callbacks.destroy(raw)

    def model(self) -> Model:
        """The model. Its ``metadata`` is that of the PopEF file."""
        if self._model is None:
            self._model = Model(popef.Model(self._executable.popef_model()).metadata)
        return self._model

    def popefModel(self) -> popef.Model:
        """Returns the blobs of the model; see ``Executable.popef_model``. Since 1.0."""
        return popef.Model(self._call(_raw.RawSession.popef_model))

    def _call(self, what: Callable[..., Any], *arguments: Any) -> Any:
        try:
            with self._using() as raw:
                return what(raw, *arguments)
        finally:
            _callbacks.raise_pending()

    def bindToDevice(self, device: Any = None) -> None:
        """Loads the session on a device; None is its current one, else that of the options, else a free one. Unloads
        the session that uses the device."""
        if device is None:
            self._call(_raw.RawSession.bind_to_any_device)
        else:
            self._call(_raw.RawSession.bind_to_device, device._open())

    def reload(self) -> None:
        """Loads again: the state is the initial one, and the session is no longer stopped. Updated weights are kept."""
        self._call(_raw.RawSession.load_again)

    def unloadFromDevice(self) -> None:
        """Frees the device. Running programs end with CancelledError."""
        self._call(_raw.RawSession.unload_from_device)

    def isLoaded(self) -> bool:
        """False before a device was acquired, after unloading, and if another session uses the device."""
        return bool(self._call(_raw.RawSession.is_loaded))

    def stop(self) -> None:
        """Ends running programs soon with CancelledError (``runMainPrograms`` returns False instead), and later ones
        until ``reload`` or ``bindToDevice``. Handlers may call it."""
        self._call(_raw.RawSession.stop)

    def setUserInputHandler(self, name: str, handler: Any) -> None:
        """Sets the handler of an input; None removes it. Raises NotFoundError and FailedPreconditionError (the metadata
        has no handle for the anchor).

        ``handler`` is a function that writes its array, or an object with such a ``fetch`` and, optionally,
        ``prefetch`` (the same if data is available, and then returns true; repeated calls write the same data until
        ``complete``), ``complete``, ``invalidatePrefetched`` (also called on the thread that unloads the session or
        replaces the handler) and ``interrupt`` (makes a waiting fetch return; called on any thread). A fetch that
        returns False has no data, and the run ends with CancelledError. The array is only valid during the call.
        """
        self._set(name, handler, False)

    def setUserOutputHandler(self, name: str, handler: Any) -> None:
        """Sets the handler of an output, like ``setUserInputHandler``. The handler reads the array."""
        self._set(name, handler, True)

    def _set(self, name: str, handler: Any, is_output: bool) -> None:
        desc = next((d for d in self._anchors[is_output] if d.name == name), DataDesc(name, [-1], DataType.UNDEFINED, 0))
        stream = None if handler is None else _callbacks.Stream(handler, desc, is_output)
        number = 0 if stream is None else _callbacks.target(stream)
        which = (_callbacks.PREFETCH, _callbacks.FETCH, _callbacks.COMPLETE, _callbacks.INVALIDATE, _callbacks.INTERRUPT)
        prefetch, fetch, complete, invalidate, interrupt = (_callbacks.FNS[w] if stream else 0 for w in which)
        with self._changing:
            try:
                with self._using() as raw:
                    if is_output:
                        raw.set_output_handler(name, fetch, complete, interrupt, number)
                    else:
                        raw.set_input_handler(name, prefetch, fetch, complete, invalidate, interrupt, number)
                    if stream is None:
                        self._streams.pop((name, is_output), None)
                    else:
                        self._streams[name, is_output] = stream
            finally:
                _callbacks.raise_pending()  # of the previous handler

    def getUserInputAnchors(self) -> list[DataDesc]:
        """The inputs that the caller must serve. They do not include the masks ``poprt.real.DIM`` of a model at several
        shapes: the session fills these with ones, so every place of the shape that ``poprt.bucket`` selects is real. A
        caller that pads its inputs sets handlers for the masks."""
        return list(self._inputs)

    def getUserOutputAnchors(self) -> list[DataDesc]:
        """The outputs that the caller must serve."""
        return list(self._outputs)

    def _run(self, what: Callable[..., Any], *arguments: Any) -> Any:
        with _callbacks.Running(self):
            return self._call(what, *arguments)

    def runLoadPrograms(self) -> None:
        """Runs the load programs. Raises CancelledError (stopped, or no data) and FailedPreconditionError (not
        connected, or on no device)."""
        self._run(_raw.RawSession.run_load_programs)

    def runMainPrograms(self) -> bool:
        """Runs the main programs once. Returns False if ``stop()`` or ``disconnectAll()`` ended the programs or prevented
        them from running, so that a thread which calls it in a loop ends without an exception. Raises CancelledError (a
        handler had no data, or the session left its device) and FailedPreconditionError (not connected, or on no
        device)."""
        return bool(self._run(_raw.RawSession.run_main_programs_unless_stopped))

    def runSavePrograms(self) -> None:
        """Runs the save programs; errors as ``runLoadPrograms``."""
        self._run(_raw.RawSession.run_save_programs)

    def runPrograms(self, indices: Iterable[int]) -> None:
        """Runs programs by PopEF's indices, in this order. Raises NotFoundError and the errors of ``runLoadPrograms``."""
        values = list(indices)
        self._run(_raw.RawSession.run_programs, values, len(values))

    # <functions:session> made from capi/functions.toml by tests/lint/functions.py --write
    def verifyConnected(self) -> None:
        """Checks that every anchor that the user serves has a handler or a queue. Raises FailedPreconditionError (some
        have none; the message names them). Since 0.1."""
        self._call(_raw.RawSession.verify_connected)

    def profile(self) -> str:
        """A JSON object with the times of every instruction since the session was last loaded on a device, in the
        format of the runner's profile. Raises FailedPreconditionError (the session was created without the option
        ``profile``, or is on no device). Since 1.0."""
        return str(self._call(_raw.RawSession.profile))
    # </functions:session>

    def updateWeights(self, name: str, array: Any) -> None:
        """Replaces, by copy, the value of an input that has data in the executable, for later runs. Raises
        NotFoundError and InvalidArgumentError (the dtype or the shape)."""
        array = self._weights(name, array, "input")
        self._call(_raw.RawSession.update_weights, name, *_raw.raw_address(array))

    def readWeights(self, name: str, array: Any) -> None:
        """Copies the value of an input that has data in the executable into an array. Raises the errors of
        ``updateWeights``."""
        array = self._weights(name, array, "output")
        self._call(_raw.RawSession.read_weights, name, *_raw.raw_address(array))

    def _weights(self, name: str, array: Any, direction: str) -> Any:
        """Returns the array as memory of that input. The library checks which inputs have weights."""
        nothing = np.empty(0, np.uint8)
        desc = next((d for d in self._anchors[False] if d.name == name), None)
        if desc is None:
            return nothing
        try:
            return whole(array, direction, desc, "weights")
        except InvalidArgumentError as error:
            try:
                self._call(_raw.RawSession.read_weights, name, *_raw.raw_address(nothing))
            except InvalidArgumentError:  # the input has weights: 0 bytes are too few
                pass
            raise error from None

    def createQueueManager(self, numBuffers: int = 16, timeoutCallback: "Optional[Callable[[InputQueue], Any]]" = None,
                           timeoutNs: Union[int, datetime.timedelta] = 0, inputPredicate: Optional[AnchorCallbackPredicate] = None,
                           outputPredicate: Optional[AnchorCallbackPredicate] = None) -> "QueueManager":
        """Creates a queue for each anchor that a predicate accepts; None means the anchors that the caller must serve.
        A queue has room for ``numBuffers`` elements, rounded up to a power of two; 0 means 16.

        ``timeoutCallback`` is called repeatedly on the running thread when a run has waited for an input for
        ``timeoutNs``, in nanoseconds or as a ``timedelta``; with 0, it is never called. It may enqueue, for example
        padding. If it raises, the session is stopped and the run raises the exception. Earlier queues are closed: their
        waiting elements are cancelled, and so is a run that waits for them. If the number or the time is refused
        (InvalidArgumentError), earlier queues stay open.
        """
        options = _raw.RawQueueOptions()
        options.set_buffers(numBuffers)
        made = Queues(self, timeoutCallback)
        if timeoutCallback is not None:
            options.set_timeout(nanoseconds(timeoutNs), _callbacks.FNS[_callbacks.TIMEOUT], _callbacks.target(made))
        asked = None
        if inputPredicate or outputPredicate:
            asked = _callbacks.PredicateCall(inputPredicate or self._same(self._inputs),
                                     outputPredicate or self._same(self._outputs))
            options.set_predicate(_callbacks.FNS[_callbacks.ACCEPTS], _callbacks.target(asked))
        with self._changing:
            if self._queues is not None:
                self._queues.closed = True
            try:
                made.raw = self._call(_raw.RawSession.create_queue_manager, options)
            except BaseException:
                # The library closes the earlier queues only if it accepts the options.
                if self._queues is not None and self._queues.raw.is_open():
                    self._queues.closed = False
                raise
            self._queues = made
        del asked
        return made.manager()

    @staticmethod
    def _same(anchors: list[DataDesc]) -> AnchorCallbackPredicate:
        names = {a.name for a in anchors}
        return lambda anchor: (AnchorCallbackPolicy.BIND_USER_CB if anchor.name() in names
                               else AnchorCallbackPolicy.BIND_EMPTY_CB)

    def close(self) -> None:
        """Stops the session, as ``stop`` does, and frees it when the running programs have ended. Waiting elements of
        queues are cancelled."""
        try:
            self._call(_raw.RawSession.stop)
        except ValueError:
            if not self._closed:
                raise
        finally:
            with self._lock:
                self._closed = True
            self._free_if_unused()

    def __del__(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            _callbacks.destroy(raw)

    def __repr__(self) -> str:
        if self._closed:
            return "<Session, closed>"
        inputs, outputs = (", ".join(map(repr, ds)) for ds in (self._inputs, self._outputs))
        return f"<Session {inputs} -> {outputs}>"

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
