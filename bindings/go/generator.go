package poprt

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"poprt.example.org/bindings/go/internal/native"
)

// GeneratorOptions are the options of [NewGenerator]; zero means the default. With ReusePrefixes, logits may differ in
// the last bits. Since 1.0.
type GeneratorOptions struct {
	MaxLength     int64 // the most tokens of a text, including its prompt; 0: the context of the model, at most 2048
	Slots         int64 // sequences that one step computes together; 0: 1
	Prefill       int64 // tokens of a prompt that one run computes; 0: 32 and 128
	Threads       int   // 0: POPRT_THREADS from the environment, or all CPUs
	ReusePrefixes bool  // a sequence uses tokens that another one left on the device, if its prompt begins with them
	EncoderLength int64 // the most tokens of the input of an encoder; 0: the context of the model, at most 512
	// Recurrent states that are not found by their names: "past=present,...", with "%d" for a number.
	States string
	// How caches of keys and values are stored: "int8": in 8 bits, so that results differ slightly; "": in the precision
	// of the model.
	CachePrecision string
}

// Generator is a language model on a device, which generates texts of tokens. Any number of goroutines may use it. Its
// sequences run together: a sequence joins when a slot is free and leaves when it ends. Since 1.0.
type Generator struct {
	h *handle[native.RawGenerator]
}

// NewGenerator compiles and loads a model: a folder of onnxruntime-genai or optimum, an ONNX file with past and present
// keys and values, or a PopEF file of [Generator.Save]. Errors: NotFound, DataLoss (a damaged file), Unimplemented (an
// operator, or inputs and outputs without a known meaning), InvalidArgument (options), FailedPrecondition (a PopEF file
// that is not for a generator), Unavailable (all devices are busy), ResourceExhausted. Since 1.0.
func NewGenerator(path string, options *GeneratorOptions) (_ *Generator, refused error) {
	defer refuse(&refused)
	o := GeneratorOptions{}
	if options != nil {
		o = *options
	}
	var failure error
	check32(&failure, "Threads", o.Threads)
	if failure != nil {
		return nil, failure
	}
	var err uintptr
	raw := native.RawGeneratorCreate(path, o.MaxLength, o.Slots, o.Prefill, o.Threads, o.ReusePrefixes,
		o.EncoderLength, o.States, o.CachePrecision, &err)
	if err := check(err); err != nil {
		return nil, err
	}
	return &Generator{newHandle(raw, native.DeleteRawGenerator)}, nil
}

// NewSequence makes a text that has not started and begins with the prompt. A sequence keeps its generator alive.
// Errors: InvalidArgument (a token is outside of the vocabulary). Since 1.0.
func (g *Generator) NewSequence(prompt ...int64) (*Sequence, error) {
	raw, err := g.h.acquire()
	if err != nil {
		return nil, err
	}
	defer g.h.release()
	var failure uintptr
	made := raw.New_sequence(&failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	s := &Sequence{progress: make(chan struct{}, 1), closed: make(chan struct{})}
	id := watch(s.progress)
	s.h = newHandle(made, func(raw native.RawSequence) {
		native.DeleteRawSequence(raw)
		unwatch(id)
	})
	closed := s.closed // the finalizer of the handle would not run if its functions referred to the sequence
	s.h.interrupt = func(raw native.RawSequence) {
		raw.Cancel()
		close(closed)
	}
	if err := check(native.Raw_watch(made, id)); err != nil {
		return nil, err
	}
	for _, token := range prompt {
		if err := s.Append(token); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Close releases the generator; sequences keep it alive.
func (g *Generator) Close() error { return g.h.Close() }

// <functions:generator> made from capi/functions.toml by tests/lint/functions.py --write

// MaxLength is the most tokens of a text, including its prompt. Since 1.0.
func (g *Generator) MaxLength() int64 { return valueOf(g.h, native.RawGenerator.Max_length) }

// Slots is the number of sequences that one step computes together. Since 1.0.
func (g *Generator) Slots() int64 { return valueOf(g.h, native.RawGenerator.Slots) }

// Vocabulary is the number of tokens that the model knows. A token is a number from 0 to this one, exclusive.
// Since 1.0.
func (g *Generator) Vocabulary() int64 { return valueOf(g.h, native.RawGenerator.Vocabulary) }

// Statistics is a JSON object with the numbers of slots, sequences, tokens, steps and seconds since the generator was
// created. Thread-safe. Since 1.0.
func (g *Generator) Statistics() (string, error) { return textOf(g.h, native.RawGenerator.Statistics) }

// Save writes a PopEF file, from which a generator is created without compiling. The file is written completely or not
// at all, and replaces an existing file. Errors: NotFound (the folder does not exist); PermissionDenied (the file
// cannot be created); ResourceExhausted (the disk is full). Since 1.0.
func (g *Generator) Save(path string) error {
	return callOf(g.h, func(raw native.RawGenerator) uintptr { return raw.Save(path) })
}

// </functions:generator>

// Sequence is one text of a [Generator]. One goroutine at a time uses it, except that any goroutine may call Cancel and
// Close. Since 1.0.
type Sequence struct {
	h        *handle[native.RawSequence]
	started  atomic.Bool
	progress chan struct{} // has an element after progress that no call has seen
	closed   chan struct{} // closed by Close during a call
}

// watch returns a number with which the library reports progress to the channel.
func watch(progress chan struct{}) int64 {
	return newNumber(func(id int64) { calls.progress[id] = progress })
}

func unwatch(id int64) {
	calls.Lock()
	defer calls.Unlock()
	delete(calls.progress, id)
}

// report notifies a sequence of its progress, unless it was freed.
func report(id int64) {
	calls.Lock()
	progress := calls.progress[id]
	calls.Unlock()
	select {
	case progress <- struct{}{}:
	default: // it was reported and not seen, or the channel is nil
	}
}

// await calls poll, which does not wait, until it does not fail with DeadlineExceeded. Between the calls the goroutine
// waits for progress of the sequence, without a thread.
func await[V any](s *Sequence, timeoutNs int64, poll func(native.RawSequence) (V, error)) (value V, err error) {
	raw, err := s.h.acquire()
	if err != nil {
		return value, err
	}
	defer s.h.release()
	var limit <-chan time.Time
	for expired := timeoutNs == 0; ; {
		value, err = poll(raw)
		if s.h.interrupted() {
			return value, ErrClosed
		}
		if !errors.Is(err, DeadlineExceeded) {
			return value, err
		}
		if expired {
			return value, &Error{Code: DeadlineExceeded, Message: fmt.Sprintf("there was no token within %d ns", timeoutNs)}
		}
		if timeoutNs > 0 && limit == nil {
			timer := time.NewTimer(time.Duration(timeoutNs))
			defer timer.Stop()
			limit = timer.C
		}
		select {
		case <-s.progress:
		case <-limit:
			expired = true
		case <-s.closed:
			return value, ErrClosed
		}
	}
}

// Start starts the text, which waits until a slot is free; the call does not wait. Errors: InvalidArgument (the prompt
// is empty, the encoder has no input, or options exclude each other); OutOfRange (the prompt has as many tokens as a
// text may have, or the input of the encoder is too long); FailedPrecondition (the sequence has started). Since 1.0.
func (s *Sequence) Start() error {
	err := callOf(s.h, native.RawSequence.Start)
	if err == nil {
		s.started.Store(true)
	}
	return err
}

// Next is the next token, for which the goroutine waits without a thread; -1 at the end of the text. If a run of the
// device has failed, the call after the last token fails with its error. A negative timeout means no limit. Errors:
// DeadlineExceeded (there is no token in time); FailedPrecondition (the sequence has not started, waits for Resume, or
// has no token that may be chosen). Since 1.0.
func (s *Sequence) Next(timeoutNs int64) (int64, error) {
	return await(s, timeoutNs, func(raw native.RawSequence) (int64, error) {
		var failure uintptr
		token := raw.Next(0, &failure)
		return token, check(failure)
	})
}

// WaitLogits is the number of logits of the next token, for which the goroutine waits without a thread, with the option
// `wait_for_logits`; 0 at the end of the text. A negative timeout means no limit. Errors: DeadlineExceeded (there are no
// logits in time); FailedPrecondition (the sequence was started without the option, or has not started). Since 1.0.
func (s *Sequence) WaitLogits(timeoutNs int64) (int64, error) {
	return await(s, timeoutNs, func(raw native.RawSequence) (int64, error) {
		var failure uintptr
		count := raw.Wait_logits(0, &failure)
		return count, check(failure)
	})
}

// continues is the result of a poll while a text has not ended.
var continues = &Error{Code: DeadlineExceeded}

// NextText is whether a beam search has another text. The goroutine waits, without a thread, for the end of the search
// and goes to that text, whose tokens Next then returns. Errors: FailedPrecondition (the sequence has not started, or
// has no token that may be chosen). Since 1.0.
func (s *Sequence) NextText() (bool, error) {
	return await(s, -1, func(raw native.RawSequence) (bool, error) {
		var failure uintptr
		if s.started.Load() {
			reason := native.TakeText(raw.Finish_reason(&failure))
			if err := check(failure); err != nil {
				return false, err
			}
			if reason == "" {
				return false, continues
			}
		}
		another := raw.Next_text(&failure)
		return another, check(failure)
	})
}

// SaveBytes returns the text so far, as Save writes it to a file. Errors: FailedPrecondition (the sequence has not
// started); Unimplemented (it is a beam search). Since 1.0.
func (s *Sequence) SaveBytes() ([]byte, error) {
	raw, err := s.h.acquire()
	if err != nil {
		return nil, err
	}
	defer s.h.release()
	var failure uintptr
	blob := raw.Save_bytes(&failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	defer native.DeleteRawBlob(blob)
	return native.CopyBytes(blob), nil
}

// RestoreBytes reads the bytes of SaveBytes or of a file instead of a prompt and options, as Restore does. They are
// copied. Errors: DataLoss (they are damaged or truncated); FailedPrecondition (the sequence has started, or has a
// prompt or options; or they are of another model, build or size). Since 1.0.
func (s *Sequence) RestoreBytes(data []byte) error {
	first, keep := address(data)
	defer runtime.KeepAlive(keep)
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Restore_bytes(first, int64(len(data))) })
}

// ReadAll waits for the rest of the text and returns its tokens. Errors: as Next. Since 1.0.
func (s *Sequence) ReadAll() ([]int64, error) {
	var tokens []int64
	for {
		token, err := s.Next(-1)
		if err != nil {
			return nil, err
		}
		if token < 0 {
			return tokens, nil
		}
		tokens = append(tokens, token)
	}
}

// Close cancels the text if it continues. A call of another goroutine that waits for it returns ErrClosed.
func (s *Sequence) Close() error { return s.h.Close() }

// <functions:sequence> made from capi/functions.toml by tests/lint/functions.py --write

// Append appends a token to the prompt. For a model whose encoder takes tokens, it is the input of the encoder. Errors:
// InvalidArgument (the token is outside of the vocabulary); FailedPrecondition (the sequence has started, or continues
// a saved text). Since 1.0.
func (s *Sequence) Append(token int64) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Append(token) })
}

// SetOption sets an option: `temperature` (0, the default: the most probable token), `top_k` (0: all), `top_p` (1:
// all), `min_p`, `repetition_penalty` (1: none), `seed`, `max_new_tokens` (0: until the maximum length),
// `min_new_tokens`, `ignore_stop` (1: the stop tokens of the model do not end the text), `time_limit` (seconds; 0:
// none), `wait_for_logits` (1: the text waits before each token, so that the caller can change the logits), `num_beams`
// (1: no beam search; each beam needs a slot), `num_return_sequences` (texts of a beam search), `length_penalty` (1; a
// score is divided by the length to this power), `early_stopping` (of a beam search; 0: when no better text is likely,
// 1: when `num_beams` texts have ended, 2: when no better text is possible). Errors: NotFound (no option has the name;
// the message lists the names); InvalidArgument (the option does not accept the value); FailedPrecondition (the
// sequence has started, or continues a saved text). Since 1.0.
func (s *Sequence) SetOption(name string, value float64) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Set_option(name, value) })
}

// AddStopToken adds a token that ends the text. It is the last token that is returned. Errors: InvalidArgument (the
// token is outside of the vocabulary); FailedPrecondition (the sequence has started, or continues a saved text).
// Since 1.0.
func (s *Sequence) AddStopToken(token int64) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Add_stop_token(token) })
}

// AddBadToken adds a token that is never chosen. Errors: InvalidArgument (the token is outside of the vocabulary);
// FailedPrecondition (the sequence has started, or continues a saved text). Since 1.0.
func (s *Sequence) AddBadToken(token int64) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Add_bad_token(token) })
}

// LogProbability is the logarithm of the probability that the model gives the token that was returned last, before
// penalties and temperature. 0 before the first token. Since 1.0.
func (s *Sequence) LogProbability() float64 { return valueOf(s.h, native.RawSequence.Log_probability) }

// FinishReason is why the text has ended: `stop` (a stop token), `length` (the maximum number of tokens), `deadline`
// (its time limit), `cancelled`, `error`; empty while it continues. A text ends before its last tokens are read.
// Since 1.0.
func (s *Sequence) FinishReason() (string, error) {
	return textOf(s.h, native.RawSequence.Finish_reason)
}

// Cancel ends the text before its next token. Any thread may call it. Since 1.0.
func (s *Sequence) Cancel() error { return callVoidOf(s.h, native.RawSequence.Cancel) }

// Logit is the logit of a token, after the call that waits for the logits. 0 if there is none. Since 1.0.
func (s *Sequence) Logit(token int64) float64 {
	return valueOf(s.h, func(raw native.RawSequence) float64 { return raw.Logit(token) })
}

// SetLogit changes the logit of a token, after the call that waits for the logits. Errors: InvalidArgument (the token
// is outside of the vocabulary); FailedPrecondition (the sequence does not wait). Since 1.0.
func (s *Sequence) SetLogit(token int64, value float64) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Set_logit(token, value) })
}

// Resume chooses the next token from the logits, which the caller may have changed. Errors: FailedPrecondition (the
// sequence does not wait). Since 1.0.
func (s *Sequence) Resume() error { return callOf(s.h, native.RawSequence.Resume) }

// AppendDecoder appends a token to the prompt of the decoder, for a model with an encoder. Without it, the decoder
// starts with the tokens that the configuration of the model states. Errors: InvalidArgument (the token is outside of
// the vocabulary, or the model has no encoder); FailedPrecondition (the sequence has started, or continues a saved
// text). Since 1.0.
func (s *Sequence) AppendDecoder(token int64) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Append_decoder(token) })
}

// AppendFeature appends an element to the features of an encoder, such as the spectrogram of Whisper, in row-major
// order. Errors: InvalidArgument (the encoder takes no features); OutOfRange (there are as many as the encoder takes);
// FailedPrecondition (the sequence has started, or continues a saved text). Since 1.0.
func (s *Sequence) AppendFeature(value float64) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Append_feature(value) })
}

// ReadFeatures reads the features of an encoder from a .npy file of NumPy. Their number must be that of the encoder.
// Errors: NotFound (the file does not exist); InvalidArgument (it is not a complete .npy file of floating-point
// numbers, the number differs, or the encoder takes no features); FailedPrecondition (the sequence has started, or
// continues a saved text). Since 1.0.
func (s *Sequence) ReadFeatures(path string) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Read_features(path) })
}

// Save writes the text so far to a file: its state on the device, its options and the tokens that were not read. A
// sequence that restores the file continues it with the same tokens. The text goes on here. The file is written
// completely or not at all, and replaces an existing file. Errors: FailedPrecondition (the sequence has not started);
// Unimplemented (the sequence is a beam search); NotFound (the folder does not exist); PermissionDenied (the file
// cannot be created); ResourceExhausted (the disk is full). Since 1.0.
func (s *Sequence) Save(path string) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Save(path) })
}

// Restore reads a saved text instead of a prompt and options. Starting the sequence continues the text. The generator
// must have the same model and sizes. The time limit begins again. Errors: NotFound (the file does not exist); DataLoss
// (the file is damaged or truncated); FailedPrecondition (the sequence has started, or has a prompt or options; or the
// file is of another model, build or size). Since 1.0.
func (s *Sequence) Restore(path string) error {
	return callOf(s.h, func(raw native.RawSequence) uintptr { return raw.Restore(path) })
}

// Score is the score of the current text of a beam search: the sum of its log-probabilities divided by its length to
// the power `length_penalty`. 0 before the end and for other sequences. Since 1.0.
func (s *Sequence) Score() float64 { return valueOf(s.h, native.RawSequence.Score) }

// </functions:sequence>
