/* Generator: texts of tokens from a language model, with its caches on the device.
 *
 * A generator runs the sequences of any number of threads together (continuous batching): a
 * sequence joins when a slot is free, in the order of their start, and leaves when it ends. Its
 * tokens do not depend on the other sequences. Tokens are numbers: the program converts text to
 * tokens and back.
 *
 * Example:
 *     static void write_tokens(const int64_t* prompt, size_t count) {
 *       poprt_generator* generator = NULL;
 *       poprt_sequence* text = NULL;
 *       int64_t token = 0;
 *       check(poprt_generator_create("model_folder", NULL, &generator));
 *       check(poprt_generator_new_sequence(generator, &text));
 *       for (size_t i = 0; i < count; i++) check(poprt_sequence_append(text, prompt[i]));
 *       check(poprt_sequence_set_option(text, "temperature", 0.7));
 *       check(poprt_sequence_start(text));
 *       for (;;) {
 *         check(poprt_sequence_next(text, -1, &token));
 *         if (token < 0) break;
 *         printf("%lld\n", (long long)token);
 *       }
 *       poprt_sequence_free(text);
 *       poprt_generator_free(generator);
 *     }
 */
#ifndef POPRT_GENERATOR_H
#define POPRT_GENERATOR_H

#include "poprt/compiler.h"
#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poprt_generator poprt_generator;
typedef struct poprt_sequence poprt_sequence;

/* Receives the progress of a sequence; see poprt_sequence_set_callback. */
typedef void (*poprt_sequence_fn)(void* user_data);

/* Set struct_size to sizeof(poprt_generator_options) and the rest to zero; zero means default.
 * Since 1.0. */
typedef struct poprt_generator_options {
  size_t struct_size;
  /* The most tokens of a text, including its prompt. The caches have this size. 0: the context that
   * the configuration of the model states, at most 2048. */
  int64_t max_length;
  /* The number of sequences that one step computes together. 0: 1. */
  int64_t slots;
  /* The number of tokens of a prompt that one run computes. 0: 32 and 128. */
  int64_t prefill;
  /* Compute threads. 0: POPRT_THREADS from the environment, or all CPUs. */
  int32_t threads;
  /* Whether a sequence uses the tokens that an earlier or another one left on the device, if its
   * prompt begins with them. Logits may then differ in the last bits. Non-zero: yes. */
  int32_t reuse_prefixes;
  /* How to compile a model that is not a PopEF file. Shapes, the batch and the number of IPUs must
   * not be set, because the generator determines them. Null: default options. */
  const poprt_compiler* compiler;
  /* The most tokens of the input of an encoder. 0: the context that the configuration of the model
   * states, at most 512. It must be 0 for a model without an encoder of tokens. */
  int64_t encoder_length;
  /* Recurrent states that are not found by their names: "past=present" with the names of an input
   * and an output, separated by commas. "%d" in both names stands for a number. Null: none. */
  const char* states;
  /* How caches of keys and values are stored. "int8": 8 bits, with a scale for each token and head,
   * in about a quarter of the memory of f32; results differ slightly. Null or empty: the precision
   * of the model. */
  const char* cache_precision;
} poprt_generator_options;

/* Compiles and loads a model. `path` is a folder of onnxruntime-genai (genai_config.json) or of
 * optimum (config.json and model.onnx; with an encoder: encoder_model.onnx and decoders), an ONNX
 * file with past and present keys and values, or a PopEF file that poprt_generator_save wrote. A
 * compiled model is cached as by poprt_compiler_compile_file. `options` may be null. Errors:
 * not_found, data_loss (a damaged file), unimplemented (an operator, or inputs and outputs without
 * a known meaning; the message names them), invalid_argument (options, or sizes that differ from
 * those of a PopEF file), failed_precondition (a PopEF file that is not for a generator),
 * unavailable (no free device), resource_exhausted, permission_denied (a file cannot be opened, or
 * the folder or the locks of shared devices). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_generator_create(const char* path,
                                                             const poprt_generator_options* options,
                                                             poprt_generator** out_generator);
/* Null is allowed. Sequences keep the generator alive. Since 1.0. */
POPRT_API void poprt_generator_free(poprt_generator* generator);

/* A text that has not started. Its prompt and its options are set with poprt_sequence_append and
 * poprt_sequence_set_option. A sequence is used by one thread at a time, except
 * poprt_sequence_cancel. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_generator_new_sequence(poprt_generator* generator,
                                                                   poprt_sequence** out_sequence);
/* Null is allowed. Cancels the sequence if it continues. Must not be called in a callback of the
 * generator. Since 1.0. */
POPRT_API void poprt_sequence_free(poprt_sequence* sequence);

/* Sets a function that is called when the sequence has progress: a token can be read, the logits of
 * the next token are available, or the text has ended or failed. With it, a program waits for any
 * number of sequences without a thread for each. One call may report several tokens, so the program
 * then reads with a timeout of 0 until the error is deadline_exceeded or the text ends. Progress
 * before this call is also reported. A null `callback` removes the function, and another one
 * replaces it.
 *
 * The callback runs on a thread of the generator, which computes nothing meanwhile. It must not
 * block or throw. The only function of this header that it may call is poprt_sequence_cancel; for
 * others, it wakes another thread. When this function or poprt_sequence_free returns, the former
 * callback does not run and is not called again, so `user_data` may be freed. They wait for a
 * running callback, so their caller must not hold a lock that the callback takes. Errors:
 * failed_precondition (called in a callback). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_set_callback(poprt_sequence* sequence,
                                                                  poprt_sequence_fn callback,
                                                                  void* user_data);

/* As poprt_sequence_save, to memory: `write` receives the bytes. Errors: failed_precondition (the
 * sequence has not started), unimplemented (it is a beam search), cancelled (`write` returned
 * non-zero). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_save_bytes(poprt_sequence* sequence,
                                                                poprt_write_fn write,
                                                                void* user_data);
/* As poprt_sequence_restore, from bytes of poprt_sequence_save_bytes or of a file. The bytes are
 * copied. Errors: data_loss (the bytes are damaged or truncated), failed_precondition (the sequence
 * has started, or has a prompt or options; or the bytes are of another model, build or size).
 * Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_restore_bytes(poprt_sequence* sequence,
                                                                   const void* data, size_t size);

/* <functions:generator> made from capi/functions.toml by tests/lint/functions.py --write */
/* The most tokens of a text, including its prompt. Since 1.0. */
POPRT_API int64_t poprt_generator_max_length(const poprt_generator* generator);
/* The number of sequences that one step computes together. Since 1.0. */
POPRT_API int64_t poprt_generator_slots(const poprt_generator* generator);
/* The number of tokens that the model knows. A token is a number from 0 to this one, exclusive.
 * Since 1.0. */
POPRT_API int64_t poprt_generator_vocabulary(const poprt_generator* generator);
/* A JSON object with the numbers of slots, sequences, tokens, steps and seconds since the generator
 * was created. Thread-safe. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_generator_statistics(const poprt_generator* generator,
                                                                 poprt_string** out_json);
/* Writes a PopEF file, from which a generator is created without compiling. The file is written
 * completely or not at all, and replaces an existing file. Errors: not_found (the folder does not
 * exist); permission_denied (the file cannot be created); resource_exhausted (the disk is full).
 * Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_generator_save(const poprt_generator* generator,
                                                           const char* path);
/* </functions:generator> */

/* <functions:sequence> made from capi/functions.toml by tests/lint/functions.py --write */
/* Appends a token to the prompt. For a model whose encoder takes tokens, it is the input of the
 * encoder. Errors: invalid_argument (the token is outside of the vocabulary); failed_precondition
 * (the sequence has started, or continues a saved text). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_append(poprt_sequence* sequence,
                                                            int64_t token);
/* Sets an option: `temperature` (0, the default: the most probable token), `top_k` (0: all),
 * `top_p` (1: all), `min_p`, `repetition_penalty` (1: none), `seed`, `max_new_tokens` (0: until the
 * maximum length), `min_new_tokens`, `ignore_stop` (1: the stop tokens of the model do not end the
 * text), `time_limit` (seconds; 0: none), `wait_for_logits` (1: the text waits before each token,
 * so that the caller can change the logits), `num_beams` (1: no beam search; each beam needs a
 * slot), `num_return_sequences` (texts of a beam search), `length_penalty` (1; a score is divided
 * by the length to this power), `early_stopping` (of a beam search; 0: when no better text is
 * likely, 1: when `num_beams` texts have ended, 2: when no better text is possible). Errors:
 * not_found (no option has the name; the message lists the names); invalid_argument (the option
 * does not accept the value); failed_precondition (the sequence has started, or continues a saved
 * text). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_set_option(poprt_sequence* sequence,
                                                                const char* name, double value);
/* Adds a token that ends the text. It is the last token that is returned. Errors: invalid_argument
 * (the token is outside of the vocabulary); failed_precondition (the sequence has started, or
 * continues a saved text). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_add_stop_token(poprt_sequence* sequence,
                                                                    int64_t token);
/* Adds a token that is never chosen. Errors: invalid_argument (the token is outside of the
 * vocabulary); failed_precondition (the sequence has started, or continues a saved text).
 * Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_add_bad_token(poprt_sequence* sequence,
                                                                   int64_t token);
/* Starts the text. The call does not wait; the text waits until a slot is free. Errors:
 * invalid_argument (the prompt is empty, the encoder has no input, or options exclude each other);
 * out_of_range (the prompt has as many tokens as a text may have, or the input of the encoder is
 * too long); failed_precondition (the sequence has started). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_start(poprt_sequence* sequence);
/* The next token, for which the call waits; -1 at the end of the text. If a run of the device has
 * failed, the call after the last token fails with its error. A negative `timeout_ns` means no
 * limit. Errors: deadline_exceeded (there is no token in time); failed_precondition (the sequence
 * has not started, waits until the caller resumes it, or has no token that may be chosen).
 * Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_next(poprt_sequence* sequence,
                                                          int64_t timeout_ns, int64_t* out_token);
/* The logarithm of the probability that the model gives the token that was returned last, before
 * penalties and temperature. 0 before the first token. Since 1.0. */
POPRT_API double poprt_sequence_log_probability(const poprt_sequence* sequence);
/* Why the text has ended: `stop` (a stop token), `length` (the maximum number of tokens),
 * `deadline` (its time limit), `cancelled`, `error`; empty while it continues. A text ends before
 * its last tokens are read. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_finish_reason(poprt_sequence* sequence,
                                                                   poprt_string** out_text);
/* Ends the text before its next token. Any thread may call it. Since 1.0. */
POPRT_API void poprt_sequence_cancel(poprt_sequence* sequence);
/* The number of logits of the next token, for which the call waits with the option
 * `wait_for_logits`; 0 at the end of the text. A negative `timeout_ns` means no limit. Errors:
 * deadline_exceeded (there are no logits in time); failed_precondition (the sequence was started
 * without the option, or has not started). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_wait_logits(poprt_sequence* sequence,
                                                                 int64_t timeout_ns,
                                                                 int64_t* out_count);
/* The logit of a token, after the call that waits for the logits. 0 if there is none. Since 1.0. */
POPRT_API double poprt_sequence_logit(const poprt_sequence* sequence, int64_t token);
/* Changes the logit of a token, after the call that waits for the logits. Errors: invalid_argument
 * (the token is outside of the vocabulary); failed_precondition (the sequence does not wait).
 * Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_set_logit(poprt_sequence* sequence,
                                                               int64_t token, double value);
/* Chooses the next token from the logits, which the caller may have changed. Errors:
 * failed_precondition (the sequence does not wait). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_resume(poprt_sequence* sequence);
/* Appends a token to the prompt of the decoder, for a model with an encoder. Without it, the
 * decoder starts with the tokens that the configuration of the model states. Errors:
 * invalid_argument (the token is outside of the vocabulary, or the model has no encoder);
 * failed_precondition (the sequence has started, or continues a saved text). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_append_decoder(poprt_sequence* sequence,
                                                                    int64_t token);
/* Appends an element to the features of an encoder, such as the spectrogram of Whisper, in
 * row-major order. Errors: invalid_argument (the encoder takes no features); out_of_range (there
 * are as many as the encoder takes); failed_precondition (the sequence has started, or continues a
 * saved text). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_append_feature(poprt_sequence* sequence,
                                                                    double value);
/* Reads the features of an encoder from a .npy file of NumPy. Their number must be that of the
 * encoder. Errors: not_found (the file does not exist); invalid_argument (it is not a complete .npy
 * file of floating-point numbers, the number differs, or the encoder takes no features);
 * failed_precondition (the sequence has started, or continues a saved text). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_read_features(poprt_sequence* sequence,
                                                                   const char* path);
/* Whether a beam search has another text. The call waits for the end of the search and goes to that
 * text, whose tokens are then the next ones. Errors: failed_precondition (the sequence has not
 * started, or has no token that may be chosen). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_next_text(poprt_sequence* sequence,
                                                               int32_t* out_value);
/* Writes the text so far to a file: its state on the device, its options and the tokens that were
 * not read. A sequence that restores the file continues it with the same tokens. The text goes on
 * here. The file is written completely or not at all, and replaces an existing file. Errors:
 * failed_precondition (the sequence has not started); unimplemented (the sequence is a beam
 * search); not_found (the folder does not exist); permission_denied (the file cannot be created);
 * resource_exhausted (the disk is full). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_save(poprt_sequence* sequence,
                                                          const char* path);
/* Reads a saved text instead of a prompt and options. Starting the sequence continues the text. The
 * generator must have the same model and sizes. The time limit begins again. Errors: not_found (the
 * file does not exist); data_loss (the file is damaged or truncated); failed_precondition (the
 * sequence has started, or has a prompt or options; or the file is of another model, build or
 * size). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_sequence_restore(poprt_sequence* sequence,
                                                             const char* path);
/* The score of the current text of a beam search: the sum of its log-probabilities divided by its
 * length to the power `length_penalty`. 0 before the end and for other sequences. Since 1.0. */
POPRT_API double poprt_sequence_score(const poprt_sequence* sequence);
/* </functions:sequence> */

#ifdef __cplusplus
}
#endif
#endif
