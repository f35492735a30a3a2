/* Scenarios 85 to 88, 95 to 99, 109 and 110: generators. */
#include <math.h>
#include <semaphore.h>
#include <string.h>

#include "scenario_support.h"

static const int64_t kPrompt[] = {6, 42, 26};
static const int64_t kTokens[] = {33, 33, 24, 21, 43, 37, 34, 43};
enum { PROMPT = 3, TOKENS = 8 };

static poprt_generator* generator_of(const char* path) {
  poprt_generator_options o = {0};
  o.struct_size = sizeof o;
  o.threads = 1;
  poprt_generator* g = NULL;
  OK(poprt_generator_create(path, &o, &g));
  return g;
}

static poprt_sequence* sequence_of(poprt_generator* g, int64_t max_new_tokens) {
  poprt_sequence* s = NULL;
  OK(poprt_generator_new_sequence(g, &s));
  for (int i = 0; i < PROMPT; i++) OK(poprt_sequence_append(s, kPrompt[i]));
  OK(poprt_sequence_set_option(s, "max_new_tokens", (double)max_new_tokens));
  OK(poprt_sequence_set_option(s, "ignore_stop", 1));
  return s;
}

static void expect_reason(poprt_sequence* s, const char* reason) {
  poprt_string* text = NULL;
  OK(poprt_sequence_finish_reason(s, &text));
  assert_string_equal(poprt_string_data(text), reason);
  poprt_string_free(text);
}

static void expect_tokens(poprt_sequence* s) {
  int64_t token = 0;
  for (int i = 0; i < TOKENS; i++) {
    OK(poprt_sequence_next(s, -1, &token));
    assert_int_equal(token, kTokens[i]);
    assert_true(poprt_sequence_log_probability(s) < 0);
  }
  OK(poprt_sequence_next(s, -1, &token));
  assert_int_equal(token, -1);
}

void scenario_85_generate(void** state) {
  (void)state;
  poprt_generator* g = generator_of(DATA "/../../data/generation/genai");
  assert_int_equal(poprt_generator_max_length(g), 64);
  assert_int_equal(poprt_generator_slots(g), 1);
  assert_int_equal(poprt_generator_vocabulary(g), 53);
  poprt_sequence* s = sequence_of(g, TOKENS);
  OK(poprt_sequence_start(s));
  expect_tokens(s);
  expect_reason(s, "length");
  OK(poprt_generator_save(g, "generator_c.popef"));
  poprt_generator* saved = generator_of("generator_c.popef");
  remove("generator_c.popef");
  poprt_sequence* again = sequence_of(saved, TOKENS);
  poprt_generator_free(saved); /* the sequence keeps it alive */
  OK(poprt_sequence_start(again));
  expect_tokens(again);
  poprt_sequence_free(again);
  poprt_string* json = NULL;
  OK(poprt_generator_statistics(g, &json));
  assert_non_null(strstr(poprt_string_data(json), "\"ended\":1"));
  poprt_string_free(json);
  poprt_generator_free(g);
  poprt_sequence_free(s);
}

void scenario_86_wrong_generators(void** state) {
  (void)state;
  poprt_generator* g = NULL;
  FAILS(poprt_generator_create("missing_folder", NULL, &g), POPRT_NOT_FOUND, "missing_folder");
  FAILS(poprt_generator_create(DATA "/affine.onnx", NULL, &g), POPRT_UNIMPLEMENTED, "input_ids");
  poprt_generator_options o = {0};
  o.struct_size = sizeof o;
  o.max_length = 65;
  FAILS(poprt_generator_create(DATA "/../../data/generation/genai", &o, &g), POPRT_INVALID_ARGUMENT,
        "context of 64");
  poprt_executable* model = affine();
  OK(poprt_executable_save(model, "affine_c.popef"));
  poprt_executable_free(model);
  FAILS(poprt_generator_create("affine_c.popef", NULL, &g), POPRT_FAILED_PRECONDITION,
        "not compiled for generation");
  remove("affine_c.popef");
  assert_null(g);
  g = generator_of(DATA "/../../data/generation/genai");
  poprt_sequence* s = NULL;
  OK(poprt_generator_new_sequence(g, &s));
  FAILS(poprt_sequence_append(s, 53), POPRT_INVALID_ARGUMENT, "53");
  FAILS(poprt_sequence_set_option(s, "heat", 1), POPRT_NOT_FOUND, "temperature");
  FAILS(poprt_sequence_set_option(s, "top_p", 2), POPRT_INVALID_ARGUMENT, "top_p");
  FAILS(poprt_sequence_set_option(s, "top_k", 1.5), POPRT_INVALID_ARGUMENT, "whole number");
  FAILS(poprt_sequence_start(s), POPRT_INVALID_ARGUMENT, "empty");
  int64_t token = 0;
  FAILS(poprt_sequence_next(s, -1, &token), POPRT_FAILED_PRECONDITION, "not started");
  for (int i = 0; i < 64; i++) OK(poprt_sequence_append(s, 1));
  FAILS(poprt_sequence_start(s), POPRT_OUT_OF_RANGE, "64");
  poprt_sequence_free(s);
  poprt_generator_free(g);
  poprt_generator_free(NULL);
  poprt_sequence_free(NULL);
}

void scenario_87_logits(void** state) {
  (void)state;
  poprt_generator* g = generator_of(DATA "/../../data/generation/genai");
  poprt_sequence* s = sequence_of(g, 2);
  OK(poprt_sequence_set_option(s, "wait_for_logits", 1));
  OK(poprt_sequence_start(s));
  int64_t count = 0, token = 0;
  OK(poprt_sequence_wait_logits(s, -1, &count));
  assert_int_equal(count, 53);
  for (int64_t i = 0; i < count; i++)
    assert_true(poprt_sequence_logit(s, i) <= poprt_sequence_logit(s, kTokens[0]));
  FAILS(poprt_sequence_next(s, -1, &token), POPRT_FAILED_PRECONDITION, "logits");
  OK(poprt_sequence_set_logit(s, 5, 1e6));
  FAILS(poprt_sequence_set_logit(s, 53, 1), POPRT_INVALID_ARGUMENT, "53");
  OK(poprt_sequence_resume(s));
  OK(poprt_sequence_next(s, -1, &token));
  assert_int_equal(token, 5);
  OK(poprt_sequence_wait_logits(s, -1, &count));
  OK(poprt_sequence_resume(s));
  FAILS(poprt_sequence_resume(s), POPRT_FAILED_PRECONDITION, "wait");
  OK(poprt_sequence_next(s, -1, &token));
  OK(poprt_sequence_wait_logits(s, -1, &count));
  assert_int_equal(count, 0);
  poprt_sequence_free(s);
  poprt_generator_free(g);
}

void scenario_88_ends(void** state) {
  (void)state;
  poprt_generator* g = generator_of(DATA "/../../data/generation/genai");
  poprt_sequence* s = sequence_of(g, 0);
  OK(poprt_sequence_add_stop_token(s, 24));
  OK(poprt_sequence_add_bad_token(s, 21));
  FAILS(poprt_sequence_add_stop_token(s, -1), POPRT_INVALID_ARGUMENT, "-1");
  OK(poprt_sequence_start(s));
  int64_t token = 0;
  for (int i = 0; i < 3; i++) {
    OK(poprt_sequence_next(s, -1, &token));
    assert_int_equal(token, kTokens[i]);
  }
  OK(poprt_sequence_next(s, -1, &token));
  assert_int_equal(token, -1);
  expect_reason(s, "stop");
  poprt_sequence_free(s);
  poprt_sequence* first = sequence_of(g, 0);
  OK(poprt_sequence_set_option(first, "wait_for_logits", 1));
  OK(poprt_sequence_start(first));
  poprt_sequence* second = sequence_of(g, TOKENS);
  OK(poprt_sequence_start(second));
  FAILS(poprt_sequence_next(second, 1000, &token), POPRT_DEADLINE_EXCEEDED, "1000 ns");
  poprt_sequence_cancel(first);
  expect_tokens(second);
  OK(poprt_sequence_next(first, -1, &token));
  assert_int_equal(token, -1);
  expect_reason(first, "cancelled");
  poprt_sequence_free(first);
  poprt_sequence_free(second);
  poprt_generator_free(g);
}

static void expect_text(poprt_sequence* s, const int64_t* tokens, int count) {
  int64_t token = 0;
  for (int i = 0; i < count; i++) {
    OK(poprt_sequence_next(s, -1, &token));
    assert_int_equal(token, tokens[i]);
  }
  OK(poprt_sequence_next(s, -1, &token));
  assert_int_equal(token, -1);
}

static poprt_sequence* eight_tokens(poprt_generator* g) {
  poprt_sequence* s = NULL;
  OK(poprt_generator_new_sequence(g, &s));
  OK(poprt_sequence_set_option(s, "max_new_tokens", 8));
  OK(poprt_sequence_set_option(s, "ignore_stop", 1));
  return s;
}

void scenario_95_encoder(void** state) {
  (void)state;
  poprt_generator_options o = {0};
  o.struct_size = sizeof o;
  o.threads = 1;
  o.encoder_length = 40;
  poprt_generator* g = NULL;
  OK(poprt_generator_create(DATA "/../../data/generation/t5", &o, &g));
  poprt_sequence* s = eight_tokens(g);
  const int64_t source[] = {11, 16, 27, 26, 4}, prompt[] = {3, 8, 1};
  for (int i = 0; i < 5; i++) OK(poprt_sequence_append(s, source[i]));
  for (int i = 0; i < 3; i++) OK(poprt_sequence_append_decoder(s, prompt[i]));
  OK(poprt_sequence_start(s));
  const int64_t tokens[] = {1, 1, 30, 18, 35, 35, 42, 10};
  expect_text(s, tokens, 8);
  poprt_sequence_free(s);
  s = eight_tokens(g);
  FAILS(poprt_sequence_append_feature(s, 1), POPRT_INVALID_ARGUMENT, "features");
  for (int i = 0; i < 41; i++) OK(poprt_sequence_append(s, 1));
  FAILS(poprt_sequence_start(s), POPRT_OUT_OF_RANGE, "encoder_length");
  poprt_sequence_free(s);
  poprt_generator_free(g);
  o.encoder_length = 41;
  FAILS(poprt_generator_create(DATA "/../../data/generation/t5", &o, &g), POPRT_INVALID_ARGUMENT,
        "encoder_length");
  FAILS(poprt_generator_create(DATA "/../../data/generation/genai", &o, &g), POPRT_INVALID_ARGUMENT,
        "encoder_length");
}

void scenario_96_features(void** state) {
  (void)state;
  poprt_generator* g = generator_of(DATA "/../../data/generation/whisper");
  poprt_sequence* s = eight_tokens(g);
  OK(poprt_sequence_read_features(s, DATA "/../../data/generation/whisper/features.npy"));
  FAILS(poprt_sequence_append_feature(s, 1), POPRT_OUT_OF_RANGE, "288");
  OK(poprt_sequence_start(s));
  const int64_t tokens[] = {14, 29, 41, 13, 40, 13, 15, 13};
  expect_text(s, tokens, 8);
  FAILS(poprt_sequence_read_features(s, "missing.npy"), POPRT_FAILED_PRECONDITION, "started");
  poprt_sequence_free(s);
  s = eight_tokens(g);
  FAILS(poprt_sequence_read_features(s, "missing.npy"), POPRT_NOT_FOUND, "missing.npy");
  FAILS(poprt_sequence_start(s), POPRT_INVALID_ARGUMENT, "features");
  poprt_sequence_free(s);
  poprt_generator_free(g);
}

void scenario_97_beams(void** state) {
  (void)state;
  poprt_generator_options o = {0};
  o.struct_size = sizeof o;
  o.threads = 1;
  o.slots = 3;
  poprt_generator* g = NULL;
  OK(poprt_generator_create(DATA "/../../data/generation/genai", &o, &g));
  poprt_sequence* s = NULL;
  OK(poprt_generator_new_sequence(g, &s));
  const int64_t prompt[] = {5, 9, 2};
  for (int i = 0; i < 3; i++) OK(poprt_sequence_append(s, prompt[i]));
  OK(poprt_sequence_set_option(s, "num_beams", 3));
  OK(poprt_sequence_set_option(s, "num_return_sequences", 2));
  OK(poprt_sequence_set_option(s, "length_penalty", 2));
  OK(poprt_sequence_set_option(s, "early_stopping", 1));
  OK(poprt_sequence_set_option(s, "max_new_tokens", 10));
  FAILS(poprt_sequence_set_option(s, "early_stopping", 3), POPRT_INVALID_ARGUMENT,
        "early_stopping");
  OK(poprt_sequence_start(s));
  const int64_t best[] = {46, 25, 4, 46, 20, 33, 11, 25, 4, 47};
  const int64_t second[] = {46, 25, 4, 46, 20, 33, 9, 23, 0, 34};
  expect_text(s, best, 10);
  assert_true(fabs(poprt_sequence_score(s) + 0.053866) < 1e-4);
  int32_t more = 0;
  OK(poprt_sequence_next_text(s, &more));
  assert_int_equal(more, 1);
  expect_text(s, second, 10);
  assert_true(fabs(poprt_sequence_score(s) + 0.064983) < 1e-4);
  OK(poprt_sequence_next_text(s, &more));
  assert_int_equal(more, 0);
  poprt_sequence_free(s);
  s = sequence_of(g, 2);
  OK(poprt_sequence_set_option(s, "num_beams", 4));
  FAILS(poprt_sequence_start(s), POPRT_INVALID_ARGUMENT, "slots");
  poprt_sequence_free(s);
  poprt_generator_free(g);
}

/* Writes the first bytes of a file to another one. */
static void cut(const char* from, const char* to, size_t bytes) {
  char buffer[128];
  assert_true(bytes <= sizeof buffer);
  FILE* file = fopen(from, "rb");
  assert_non_null(file);
  assert_int_equal(fread(buffer, 1, bytes, file), bytes);
  fclose(file);
  file = fopen(to, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(buffer, 1, bytes, file), bytes);
  fclose(file);
}

void scenario_98_saved_text(void** state) {
  (void)state;
  poprt_generator* g = generator_of(DATA "/../../data/generation/genai");
  poprt_sequence* s = sequence_of(g, TOKENS);
  FAILS(poprt_sequence_save(s, "sequence_c.bin"), POPRT_FAILED_PRECONDITION, "not started");
  FAILS(poprt_sequence_restore(s, "missing.bin"), POPRT_FAILED_PRECONDITION, "a prompt");
  OK(poprt_sequence_start(s));
  int64_t token = 0;
  for (int i = 0; i < 3; i++) OK(poprt_sequence_next(s, -1, &token));
  OK(poprt_sequence_save(s, "sequence_c.bin"));
  poprt_sequence* again = NULL;
  OK(poprt_generator_new_sequence(g, &again));
  FAILS(poprt_sequence_restore(again, "missing.bin"), POPRT_NOT_FOUND, "missing.bin");
  cut("sequence_c.bin", "sequence_c_cut.bin", 100);
  FAILS(poprt_sequence_restore(again, "sequence_c_cut.bin"), POPRT_DATA_LOSS, "sequence_c_cut.bin");
  remove("sequence_c_cut.bin");
  OK(poprt_sequence_restore(again, "sequence_c.bin"));
  FAILS(poprt_sequence_append(again, 1), POPRT_FAILED_PRECONDITION, "saved text");
  OK(poprt_sequence_start(again));
  expect_text(again, kTokens + 3, TOKENS - 3);
  expect_text(s, kTokens + 3, TOKENS - 3);
  FAILS(poprt_sequence_restore(s, "sequence_c.bin"), POPRT_FAILED_PRECONDITION, "started");
  poprt_sequence_free(again);
  poprt_sequence_free(s);
  poprt_generator_free(g);
  poprt_generator_options o = {0};
  o.struct_size = sizeof o;
  o.slots = 2;
  OK(poprt_generator_create(DATA "/../../data/generation/genai", &o, &g));
  OK(poprt_generator_new_sequence(g, &s));
  FAILS(poprt_sequence_restore(s, "sequence_c.bin"), POPRT_FAILED_PRECONDITION, "another model");
  remove("sequence_c.bin");
  poprt_sequence_free(s);
  poprt_generator_free(g);
}

struct saved_bytes {
  char bytes[1 << 16];
  size_t size;
};

static int32_t keep_bytes(const void* data, size_t size, void* user_data) {
  struct saved_bytes* to = user_data;
  if (size > sizeof to->bytes - to->size) return 1;
  memcpy(to->bytes + to->size, data, size);
  to->size += size;
  return 0;
}

static int32_t keep_nothing(const void* data, size_t size, void* user_data) {
  (void)data;
  (void)size;
  (void)user_data;
  return 1;
}

void scenario_109_saved_text_in_memory(void** state) {
  (void)state;
  static struct saved_bytes saved;
  poprt_generator* g = generator_of(DATA "/../../data/generation/genai");
  poprt_sequence* s = sequence_of(g, TOKENS);
  FAILS(poprt_sequence_save_bytes(s, keep_bytes, &saved), POPRT_FAILED_PRECONDITION, "not started");
  OK(poprt_sequence_start(s));
  int64_t token = 0;
  for (int i = 0; i < 3; i++) OK(poprt_sequence_next(s, -1, &token));
  FAILS(poprt_sequence_save_bytes(s, NULL, NULL), POPRT_INVALID_ARGUMENT, "'write' is null");
  FAILS(poprt_sequence_save_bytes(s, keep_nothing, NULL), POPRT_CANCELLED, "receiver");
  OK(poprt_sequence_save_bytes(s, keep_bytes, &saved));
  poprt_sequence* again = NULL;
  OK(poprt_generator_new_sequence(g, &again));
  FAILS(poprt_sequence_restore_bytes(again, saved.bytes, 100), POPRT_DATA_LOSS, "damaged");
  FAILS(poprt_sequence_restore_bytes(again, NULL, 0), POPRT_DATA_LOSS, "saved sequence");
  FAILS(poprt_sequence_restore_bytes(again, NULL, 5), POPRT_INVALID_ARGUMENT, "'data' is null");
  OK(poprt_sequence_restore_bytes(again, saved.bytes, saved.size));
  FAILS(poprt_sequence_append(again, 1), POPRT_FAILED_PRECONDITION, "saved text");
  OK(poprt_sequence_start(again));
  expect_text(again, kTokens + 3, TOKENS - 3);
  expect_text(s, kTokens + 3, TOKENS - 3);
  FAILS(poprt_sequence_restore_bytes(s, saved.bytes, saved.size), POPRT_FAILED_PRECONDITION,
        "started");
  poprt_sequence_free(again);
  poprt_sequence_free(s);
  poprt_generator_free(g);
  poprt_generator_options o = {0};
  o.struct_size = sizeof o;
  o.slots = 2;
  OK(poprt_generator_create(DATA "/../../data/generation/genai", &o, &g));
  OK(poprt_generator_new_sequence(g, &s));
  FAILS(poprt_sequence_restore_bytes(s, saved.bytes, saved.size), POPRT_FAILED_PRECONDITION,
        "another model");
  poprt_sequence_free(s);
  poprt_generator_free(g);
}

static void expect_cache_bytes(const poprt_generator* g, const char* wanted) {
  poprt_string* json = NULL;
  OK(poprt_generator_statistics(g, &json));
  assert_non_null(strstr(poprt_string_data(json), wanted));
  poprt_string_free(json);
}

void scenario_110_byte_caches(void** state) {
  (void)state;
  poprt_generator_options o = {0};
  o.struct_size = sizeof o;
  o.cache_precision = "int8";
  poprt_generator* g = NULL;
  OK(poprt_generator_create(DATA "/../../data/generation/genai", &o, &g));
  expect_cache_bytes(g, "\"cache_bytes\":4096");
  OK(poprt_generator_save(g, "byte_caches_c.popef"));
  poprt_generator_free(g);
  OK(poprt_generator_create("byte_caches_c.popef", &o, &g));
  poprt_sequence* s = sequence_of(g, TOKENS);
  OK(poprt_sequence_start(s));
  expect_text(s, kTokens, TOKENS);
  poprt_sequence_free(s);
  poprt_generator_free(g);
  remove("byte_caches_c.popef");
  g = generator_of(DATA "/../../data/generation/genai");
  expect_cache_bytes(g, "\"cache_bytes\":8192");
  OK(poprt_generator_save(g, "exact_caches_c.popef"));
  poprt_generator_free(g);
  FAILS(poprt_generator_create("exact_caches_c.popef", &o, &g), POPRT_INVALID_ARGUMENT,
        "cache_precision");
  remove("exact_caches_c.popef");
  o.max_length = 64;
  FAILS(poprt_generator_create(DATA "/../../data/generation/lstm", &o, &g), POPRT_INVALID_ARGUMENT,
        "cache_precision");
  o.cache_precision = "int4";
  FAILS(poprt_generator_create(DATA "/../../data/generation/genai", &o, &g), POPRT_INVALID_ARGUMENT,
        "cache_precision");
}

void scenario_99_named_states(void** state) {
  (void)state;
  poprt_generator_options o = {0};
  o.struct_size = sizeof o;
  o.max_length = 64;
  o.states = "h%d_in=h%d_out,c%d_in=c%d_out";
  poprt_generator* g = NULL;
  OK(poprt_generator_create(DATA "/../../data/generation/lstm/model.onnx", &o, &g));
  poprt_sequence* s = eight_tokens(g);
  const int64_t prompt[] = {36, 37, 43}, tokens[] = {17, 1, 6, 52, 30, 7, 48, 19};
  for (int i = 0; i < 3; i++) OK(poprt_sequence_append(s, prompt[i]));
  OK(poprt_sequence_start(s));
  expect_text(s, tokens, 8);
  poprt_sequence_free(s);
  poprt_generator_free(g);
  o.states = "h%d_in";
  FAILS(poprt_generator_create(DATA "/../../data/generation/lstm", &o, &g), POPRT_INVALID_ARGUMENT,
        "past=present");
  o.states = "none_in=none_out";
  FAILS(poprt_generator_create(DATA "/../../data/generation/lstm", &o, &g), POPRT_NOT_FOUND,
        "none_out");
}

static void post(void* semaphore) { sem_post(semaphore); }

struct cancelling {
  poprt_sequence* sequence;
  poprt_error* error;
};

static void cancel_once(void* user_data) {
  struct cancelling* c = user_data;
  poprt_sequence_cancel(c->sequence);
  if (!c->error) c->error = poprt_sequence_set_callback(c->sequence, NULL, NULL);
}

/* One thread reads several texts, and no call waits for a token. */
void callbacks_of_sequences(void** state) {
  (void)state;
  enum { SEQUENCES = 5 };
  poprt_generator* g = generator_of(DATA "/../../data/generation/genai");
  poprt_sequence* all[SEQUENCES];
  int64_t read[SEQUENCES] = {0}, token = 0;
  sem_t progress;
  assert_int_equal(sem_init(&progress, 0, 0), 0);
  for (int i = 0; i < SEQUENCES; i++) {
    all[i] = sequence_of(g, TOKENS);
    if (i % 2) OK(poprt_sequence_set_callback(all[i], post, &progress));
    OK(poprt_sequence_start(all[i]));
    if (i % 2 == 0) OK(poprt_sequence_set_callback(all[i], post, &progress));
  }
  for (int ended = 0; ended < SEQUENCES;) {
    while (sem_wait(&progress)) continue;
    for (int i = 0; i < SEQUENCES; i++) {
      poprt_error* error = NULL;
      while (read[i] <= TOKENS && !(error = poprt_sequence_next(all[i], 0, &token))) {
        assert_int_equal(token, read[i] < TOKENS ? kTokens[read[i]] : -1);
        if (read[i]++ == TOKENS) ended++;
      }
      if (error) assert_int_equal(poprt_error_get_code(error), POPRT_DEADLINE_EXCEEDED);
      poprt_error_free(error);
    }
  }
  for (int i = 0; i < SEQUENCES; i++) poprt_sequence_free(all[i]);

  poprt_sequence* s = sequence_of(g, 0);
  FAILS(poprt_sequence_set_callback(NULL, post, &progress), POPRT_INVALID_ARGUMENT, "sequence");
  struct cancelling c = {s, NULL};
  OK(poprt_sequence_set_option(s, "wait_for_logits", 1)); /* it cannot end before the callback */
  OK(poprt_sequence_set_callback(s, cancel_once, &c));
  OK(poprt_sequence_start(s));
  int64_t logits = 0;
  do OK(poprt_sequence_wait_logits(s, -1, &logits));
  while (logits > 0);
  expect_reason(s, "cancelled");
  poprt_sequence_free(s);
  FAILS(c.error, POPRT_FAILED_PRECONDITION, "callback");

  /* After poprt_sequence_free, the semaphore is not used. */
  for (int i = 0; i < 20; i++) {
    s = sequence_of(g, 0);
    OK(poprt_sequence_set_callback(s, post, &progress));
    OK(poprt_sequence_start(s));
    poprt_sequence_free(s);
  }
  sem_destroy(&progress);
  poprt_generator_free(g);
}
