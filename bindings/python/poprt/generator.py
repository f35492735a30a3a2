"""Generators: texts of tokens from a language model.

>>> generator = poprt.Generator("model_folder", slots=4)
>>> for token in generator.generate([1, 15, 27], temperature=0.7, seed=1):
...     print(token)
"""

from __future__ import annotations

import operator
import os
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Union

import numpy as np

from . import poprt_raw as _raw
from ._keywords import keywords
from ._onnx import package
from .errors import DeadlineExceededError, FailedPreconditionError, InvalidArgumentError, _opening, _path

__all__ = ["Generator", "Sequence"]

# Ctrl-C ends a call that waits within this time, in nanoseconds.
_PIECE = 100_000_000


class Sequence:
    """One text of a :class:`Generator`. Iterating returns its tokens. One thread at a time uses it, except that any
    thread may call ``cancel()`` and ``close()``. Since 1.0."""

    def __init__(self, raw: _raw.RawSequence):
        self._raw: Optional[_raw.RawSequence] = raw
        self._processor: Optional[Callable[[Any], Any]] = None

    def __repr__(self) -> str:
        return "<Sequence, closed>" if self._raw is None else "<Sequence of a generator>"

    def _open(self) -> _raw.RawSequence:
        if self._raw is None:
            raise ValueError("the sequence is closed")
        return self._raw

    def _result(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Returns the result of a call. Raises ValueError if another thread has closed the sequence while the call
        waited."""
        result = call(self._open(), *arguments)
        self._open()
        return result

    # <functions:sequence> made from capi/functions.toml by tests/lint/functions.py --write
    def append(self, token: int) -> None:
        """Appends a token to the prompt. For a model whose encoder takes tokens, it is the input of the encoder. Raises
        InvalidArgumentError (the token is outside of the vocabulary); FailedPreconditionError (the sequence has
        started, or continues a saved text). Since 1.0."""
        self._open().append(token)

    def set_option(self, name: str, value: float) -> None:
        """Sets an option: ``temperature`` (0, the default: the most probable token), ``top_k`` (0: all), ``top_p`` (1:
        all), ``min_p``, ``repetition_penalty`` (1: none), ``seed``, ``max_new_tokens`` (0: until the maximum
        length), ``min_new_tokens``, ``ignore_stop`` (1: the stop tokens of the model do not end the text),
        ``time_limit`` (seconds; 0: none), ``wait_for_logits`` (1: the text waits before each token, so that the
        caller can change the logits), ``num_beams`` (1: no beam search; each beam needs a slot),
        ``num_return_sequences`` (texts of a beam search), ``length_penalty`` (1; a score is divided by the length to
        this power), ``early_stopping`` (of a beam search; 0: when no better text is likely, 1: when ``num_beams``
        texts have ended, 2: when no better text is possible). Raises NotFoundError (no option has the name; the
        message lists the names); InvalidArgumentError (the option does not accept the value);
        FailedPreconditionError (the sequence has started, or continues a saved text). Since 1.0."""
        self._open().set_option(name, value)

    def add_stop_token(self, token: int) -> None:
        """Adds a token that ends the text. It is the last token that is returned. Raises InvalidArgumentError (the
        token is outside of the vocabulary); FailedPreconditionError (the sequence has started, or continues a saved
        text). Since 1.0."""
        self._open().add_stop_token(token)

    def add_bad_token(self, token: int) -> None:
        """Adds a token that is never chosen. Raises InvalidArgumentError (the token is outside of the vocabulary);
        FailedPreconditionError (the sequence has started, or continues a saved text). Since 1.0."""
        self._open().add_bad_token(token)

    def start(self) -> None:
        """Starts the text. The call does not wait; the text waits until a slot is free. Raises InvalidArgumentError
        (the prompt is empty, the encoder has no input, or options exclude each other); OutOfRangeError (the prompt
        has as many tokens as a text may have, or the input of the encoder is too long); FailedPreconditionError (the
        sequence has started). Since 1.0."""
        self._open().start()

    def next(self, timeout_ns: int) -> int:
        """The next token, for which the call waits; -1 at the end of the text. If a run of the device has failed, the
        call after the last token fails with its error. Raises DeadlineExceededError (there is no token in time);
        FailedPreconditionError (the sequence has not started, waits until the caller resumes it, or has no token
        that may be chosen). Since 1.0."""
        return int(self._result(_raw.RawSequence.next, timeout_ns))

    @property
    def log_probability(self) -> float:
        """The logarithm of the probability that the model gives the token that was returned last, before penalties and
        temperature. 0 before the first token. Since 1.0."""
        return float(self._open().log_probability())

    def finish_reason(self) -> str:
        """Why the text has ended: ``stop`` (a stop token), ``length`` (the maximum number of tokens), ``deadline`` (its
        time limit), ``cancelled``, ``error``; empty while it continues. A text ends before its last tokens are read.
        Since 1.0."""
        return str(self._result(_raw.RawSequence.finish_reason))

    def cancel(self) -> None:
        """Ends the text before its next token. Any thread may call it. Since 1.0."""
        self._open().cancel()

    def wait_logits(self, timeout_ns: int) -> int:
        """The number of logits of the next token, for which the call waits with the option ``wait_for_logits``; 0 at
        the end of the text. Raises DeadlineExceededError (there are no logits in time); FailedPreconditionError (the
        sequence was started without the option, or has not started). Since 1.0."""
        return int(self._result(_raw.RawSequence.wait_logits, timeout_ns))

    def logit(self, token: int) -> float:
        """The logit of a token, after the call that waits for the logits. 0 if there is none. Since 1.0."""
        return float(self._open().logit(token))

    def set_logit(self, token: int, value: float) -> None:
        """Changes the logit of a token, after the call that waits for the logits. Raises InvalidArgumentError (the
        token is outside of the vocabulary); FailedPreconditionError (the sequence does not wait). Since 1.0."""
        self._open().set_logit(token, value)

    def resume(self) -> None:
        """Chooses the next token from the logits, which the caller may have changed. Raises FailedPreconditionError
        (the sequence does not wait). Since 1.0."""
        self._open().resume()

    def append_decoder(self, token: int) -> None:
        """Appends a token to the prompt of the decoder, for a model with an encoder. Without it, the decoder starts
        with the tokens that the configuration of the model states. Raises InvalidArgumentError (the token is outside
        of the vocabulary, or the model has no encoder); FailedPreconditionError (the sequence has started, or
        continues a saved text). Since 1.0."""
        self._open().append_decoder(token)

    def append_feature(self, value: float) -> None:
        """Appends an element to the features of an encoder, such as the spectrogram of Whisper, in row-major order.
        Raises InvalidArgumentError (the encoder takes no features); OutOfRangeError (there are as many as the
        encoder takes); FailedPreconditionError (the sequence has started, or continues a saved text). Since 1.0."""
        self._open().append_feature(value)

    def read_features(self, path: Union[str, os.PathLike[str]]) -> None:
        """Reads the features of an encoder from a .npy file of NumPy. Their number must be that of the encoder. Raises
        NotFoundError (the file does not exist); InvalidArgumentError (it is not a complete .npy file of
        floating-point numbers, the number differs, or the encoder takes no features); FailedPreconditionError (the
        sequence has started, or continues a saved text). Since 1.0."""
        path = _path("path", path)
        with _opening(path):
            self._open().read_features(path)

    def next_text(self) -> bool:
        """Whether a beam search has another text. The call waits for the end of the search and goes to that text, whose
        tokens are then the next ones. Raises FailedPreconditionError (the sequence has not started, or has no token
        that may be chosen). Since 1.0."""
        return bool(self._result(_raw.RawSequence.next_text))

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the text so far to a file: its state on the device, its options and the tokens that were not read. A
        sequence that restores the file continues it with the same tokens. The text goes on here. The file is written
        completely or not at all, and replaces an existing file. Raises FailedPreconditionError (the sequence has not
        started); UnimplementedError (the sequence is a beam search); NotFoundError (the folder does not exist);
        PermissionDeniedError (the file cannot be created); ResourceExhaustedError (the disk is full). Since 1.0."""
        self._open().save(_path("path", path))

    def restore(self, path: Union[str, os.PathLike[str]]) -> None:
        """Reads a saved text instead of a prompt and options. Starting the sequence continues the text. The generator
        must have the same model and sizes. The time limit begins again. Raises NotFoundError (the file does not
        exist); DataLossError (the file is damaged or truncated); FailedPreconditionError (the sequence has started,
        or has a prompt or options; or the file is of another model, build or size). Since 1.0."""
        path = _path("path", path)
        with _opening(path):
            self._open().restore(path)

    @property
    def score(self) -> float:
        """The score of the current text of a beam search: the sum of its log-probabilities divided by its length to the
        power ``length_penalty``. 0 before the end and for other sequences. Since 1.0."""
        return float(self._open().score())
    # </functions:sequence>

    def to_bytes(self) -> bytes:
        """The text so far, as ``save()`` writes it to a file. Raises FailedPreconditionError (the sequence has not started);
        UnimplementedError (it is a beam search). Since 1.0."""
        blob = self._open().save_bytes()
        data: bytes = _raw.raw_bytes(blob.address(), blob.bytes())
        return data

    def restore_bytes(self, data: Union[bytes, bytearray, memoryview]) -> None:
        """Reads the bytes of ``to_bytes()`` or of a file instead of a prompt and options, as ``restore()`` does. Raises
        DataLossError (they are damaged or truncated); FailedPreconditionError (the sequence has started, or has a prompt or
        options; or they are of another model, build or size). Since 1.0."""
        address, size = _raw.raw_address(data)
        self._open().restore_bytes(address, size)

    def logits(self) -> Any:
        """Waits for the logits of the next token, with the option ``wait_for_logits``, and returns them as an array of
        f32, which is empty at the end of the text. ``set_logits()`` takes changed ones. Since 1.0."""
        count = _waiting(self.wait_logits)
        raw = self._open()
        return np.fromiter((raw.logit(token) for token in range(count)), np.float32, count)

    def set_logits(self, logits: Any) -> None:
        """Chooses the next token from these logits, one for each token of the vocabulary. Raises InvalidArgumentError (another
        number of logits); FailedPreconditionError (the sequence does not wait). Since 1.0."""
        raw, values = self._open(), np.asarray(logits)
        try:
            count = self.wait_logits(0)
        except DeadlineExceededError:  # the next token is still being computed
            count = 0
        if count and values.shape != (count,):
            raise InvalidArgumentError(f"expected {count} logits, one for each token of the vocabulary, given an array of shape "
                                       f"{list(values.shape)}; the logit of a token that must not be chosen is -inf")
        for token, value in enumerate(values.tolist() if count else ()):
            raw.set_logit(token, value)
        raw.resume()

    def set_features(self, features: Any) -> None:
        """Appends the features of an encoder from an array, such as Whisper's spectrogram, in row-major order. Raises
        the errors of ``append_feature()``. Since 1.0."""
        append = self._open().append_feature
        for value in np.asarray(features, np.float32).ravel().tolist():
            append(value)

    def texts(self) -> Iterator["tuple[list[int], float]"]:
        """The texts of a beam search, the best one first, as lists of tokens with their scores. Since 1.0."""
        while True:
            tokens = list(self)
            yield tokens, self.score
            if not self.next_text():
                return

    def __iter__(self) -> "Sequence":
        return self

    def __next__(self) -> int:
        """The next token. Raises StopIteration at the end of the text, and the errors of ``next()``."""
        if self._processor is not None:
            logits = self.logits()
            if len(logits):
                self.set_logits(self._processor(logits))
        token = _waiting(self.next)
        if token < 0:
            raise StopIteration
        return token

    def close(self) -> None:
        """Cancels the text if it continues. A call of another thread that waits for it raises ValueError."""
        raw, self._raw = self._raw, None
        if raw is not None:
            raw.cancel()

    def __enter__(self) -> "Sequence":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _token(what: str, token: Any) -> int:
    try:
        return operator.index(token)
    except TypeError:
        raise TypeError(f"{what}: expected tokens, which are integers, given {token!r}") from None


def _number(name: str, value: Any) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"{name}: expected a number, given {value!r}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{name}: expected a number, given {value!r}") from None


def _waiting(call: Callable[[int], int]) -> int:
    """Calls with time limits until there is a result, so that Ctrl-C has an effect."""
    while True:
        try:
            return call(_PIECE)
        except DeadlineExceededError:
            pass


class Generator:
    """A language model on a device: a folder of onnxruntime-genai or optimum, an ONNX file with past and present keys and
    values, or a PopEF file of ``save()``.

    Any number of threads may use one. Its sequences run together: a sequence joins when a slot is free and leaves when
    it ends. ``max_length`` is the most tokens of a text (0: the context of the model, at most 2048), ``slots`` the
    number of sequences that one step computes together, ``prefill`` the number of tokens of a prompt that one run
    computes (0: 32 and 128). With ``reuse_prefixes``, a sequence uses the tokens that an earlier or another one left on
    the device, if its prompt begins with them; logits may then differ in the last bits. ``encoder_length`` is the most
    tokens of the input of an encoder (0: the context of the model, at most 512). ``states`` names recurrent states that
    are not found by their names, as a dictionary from inputs to outputs, with ``%d`` for a number. With
    ``cache_precision="int8"``, caches of keys and values are stored in 8 bits, and results differ slightly. Since 1.0.
    """

    @keywords()
    def __init__(self, model: Union[str, os.PathLike[str]], *, max_length: int = 0, slots: int = 0, prefill: int = 0,
                 threads: int = 0, reuse_prefixes: bool = False, encoder_length: int = 0, states: Optional[Mapping[str, str]] = None,
                 cache_precision: str = ""):
        self._path = _path("model", model)
        self._tokenizer: Any = None
        with _opening(self._path):
            self._raw: Optional[_raw.RawGenerator] = _raw.RawGenerator.create(
                self._path, max_length, slots, prefill, threads, reuse_prefixes, encoder_length,
                ",".join(f"{past}={present}" for past, present in (states or {}).items()), cache_precision)

    def __repr__(self) -> str:
        return f"<Generator of {self._path!r}>"

    def _open(self) -> _raw.RawGenerator:
        if self._raw is None:
            raise ValueError("the generator is closed")
        return self._raw

    def new_sequence(self, prompt: Iterable[int] = ()) -> Sequence:
        """Makes a text that has not started and begins with the prompt. Since 1.0."""
        sequence = Sequence(self._open().new_sequence())
        for token in prompt:
            sequence.append(_token("prompt", token))
        return sequence

    def generate(self, prompt: Iterable[int] = (), *, stop_tokens: Iterable[int] = (), bad_tokens: Iterable[int] = (),
                 logits_processor: Optional[Callable[[Any], Any]] = None, features: Any = None,
                 decoder_prompt: Iterable[int] = (), **options: float) -> Sequence:
        """Starts a text after the prompt and returns it; iterating gives its tokens. ``options`` are those of
        ``Sequence.set_option``, such as ``temperature`` and ``max_new_tokens``. ``logits_processor`` receives the logits of
        each token as an array and returns those to choose from. For a model with an encoder, ``prompt`` is the input of the
        encoder, or ``features`` is an array, such as Whisper's spectrogram; the decoder begins with ``decoder_prompt``
        or, without it, with the tokens that the configuration of the model states. Since 1.0."""
        if "stop_strings" in options:
            raise TypeError("stop_strings: generate() returns tokens; it belongs to generate_text()")
        sequence = self.new_sequence(prompt)
        for token in stop_tokens:
            sequence.add_stop_token(_token("stop_tokens", token))
        for token in bad_tokens:
            sequence.add_bad_token(_token("bad_tokens", token))
        for token in decoder_prompt:
            sequence.append_decoder(_token("decoder_prompt", token))
        if features is not None:
            sequence.set_features(features)
        if logits_processor is not None:
            sequence._processor = logits_processor
            options = {**options, "wait_for_logits": 1}
        for name, value in options.items():
            sequence.set_option(name, _number(name, value))
        sequence.start()
        return sequence

    def restore(self, saved: Union[str, os.PathLike[str], bytes, bytearray, memoryview], *,
                logits_processor: Optional[Callable[[Any], Any]] = None) -> Sequence:
        """Continues a text of ``Sequence.save()``, a file, or of ``Sequence.to_bytes()``; iterating gives its next tokens.
        ``logits_processor`` is that of ``generate()``, for a text that had one. Since 1.0."""
        sequence = self.new_sequence()
        if isinstance(saved, (bytes, bytearray, memoryview)):
            sequence.restore_bytes(saved)
        else:
            sequence.restore(saved)
        sequence._processor = logits_processor
        sequence.start()
        return sequence

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the folder's tokenizer.json, an object of PyPI's package tokenizers. It may be set, for a
        model without such a folder. Since 1.0."""
        if self._tokenizer is None:
            library = package("tokenizers", "Generator.tokenizer", "python3 -m pip install tokenizers")
            file = os.path.join(self._path, "tokenizer.json")
            if not os.path.exists(file):
                raise FailedPreconditionError(f"there is no '{file}'; set the tokenizer")
            self._tokenizer = library.Tokenizer.from_file(file)
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def generate_text(self, prompt: str, *, stop_strings: str | Iterable[str] = (), **options: Any) -> Iterator[str]:
        """Generates a text after the prompt and yields its pieces as soon as they are complete. It ends before the
        first of ``stop_strings``, a string or several; none may be empty. The other options are those of
        ``generate()``. Since 1.0."""
        stops = [stop_strings] if isinstance(stop_strings, str) else list(stop_strings)
        if not all(isinstance(stop, str) and stop for stop in stops):
            raise InvalidArgumentError(f"stop_strings: expected texts that are not empty, found {stops!r}")
        return self._text(prompt, stops, options)

    def _text(self, prompt: str, stops: list[str], options: dict[str, Any]) -> Iterator[str]:
        longest = max((len(stop) for stop in stops), default=1)
        sequence = self.generate(self.tokenizer.encode(prompt, add_special_tokens=False).ids, **options)
        tokens: list[int] = []
        given = 0
        for token in sequence:
            tokens.append(token)
            text = self.tokenizer.decode(tokens)
            ends = [at for at in (text.find(stop) for stop in stops) if at >= 0]
            if ends:
                sequence.cancel()
                if min(ends) > given:
                    yield text[given:min(ends)]
                return
            # A character of several tokens is not complete, and a stop string may have begun.
            ready = len(text) - (longest - 1 if stops else 0)
            if text.endswith("\N{REPLACEMENT CHARACTER}") or ready <= given:
                continue
            yield text[given:ready]
            given = ready
        rest = self.tokenizer.decode(tokens)[given:]
        if rest:
            yield rest

    # <functions:generator> made from capi/functions.toml by tests/lint/functions.py --write
    @property
    def max_length(self) -> int:
        """The most tokens of a text, including its prompt. Since 1.0."""
        return int(self._open().max_length())

    @property
    def slots(self) -> int:
        """The number of sequences that one step computes together. Since 1.0."""
        return int(self._open().slots())

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the model knows. A token is a number from 0 to this one, exclusive. Since 1.0."""
        return int(self._open().vocabulary())

    def statistics(self) -> str:
        """A JSON object with the numbers of slots, sequences, tokens, steps and seconds since the generator was
        created. Thread-safe. Since 1.0."""
        return str(self._open().statistics())

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a PopEF file, from which a generator is created without compiling. The file is written completely or
        not at all, and replaces an existing file. Raises NotFoundError (the folder does not exist);
        PermissionDeniedError (the file cannot be created); ResourceExhaustedError (the disk is full). Since 1.0."""
        self._open().save(_path("path", path))
    # </functions:generator>

    def close(self) -> None:
        """Releases the generator; sequences keep it alive."""
        self._raw = None

    def __enter__(self) -> "Generator":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
