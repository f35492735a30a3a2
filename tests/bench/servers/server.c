/* See servers: the server in C. A thread for each client keeps requests in flight; a callback
 * reports requests that wait. */
#define _GNU_SOURCE
#include <poprt/poprt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kClients = 4, kInFlight = 4, kLimitNs = 100000 };

typedef struct job {
  void* y;
  poprt_request* request;
  poprt_error_code code;
  int64_t deadline, done;
} job;

typedef struct counts {
  long ok, late, cancelled, wrong;
} counts;

static poprt_runner* runner;
static void *x, *expected;
static size_t x_bytes, y_bytes;
static long requests, late_every, cancel_every;

static void check(poprt_error* error) {
  if (!error) return;
  fprintf(stderr, "server: %s\n", poprt_error_message(error));
  poprt_error_free(error);
  exit(1);
}

static int64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Never waits: requests that do not fit into the queue are kept in a list. */
static void submit(job* j, int64_t limit_ns, poprt_request_fn done) {
  const poprt_input in = {NULL, 0, x, x_bytes};
  const poprt_output out = {NULL, 0, j->y, y_bytes};
  poprt_request_options options = {.struct_size = sizeof options, .timeout_ns = limit_ns};
  options.callback = done;
  options.user_data = j;
  options.when_full = POPRT_WHEN_FULL_LINE;
  check(poprt_runner_submit(runner, &in, 1, &out, 1, &options, &j->request));
}

static void take(job* j, long number, counts* c) {
  poprt_error* error = poprt_request_wait(j->request, -1);
  const poprt_error_code code = poprt_error_get_code(error);
  if (code == POPRT_OK) {
    c->ok++;
    if (number % 64 == 0) c->wrong += memcmp(j->y, expected, y_bytes) != 0;
  } else if (code == POPRT_DEADLINE_EXCEEDED) {
    c->late++;
  } else if (code == POPRT_CANCELLED) {
    c->cancelled++;
  } else {
    check(error);
  }
  poprt_error_free(error);
  poprt_request_free(j->request);
}

/* A ring of jobs: before a place is used again, its request is waited for. */
static void* client(void* to) {
  counts* c = to;
  job jobs[kInFlight];
  for (int i = 0; i < kInFlight; i++) jobs[i].y = malloc(y_bytes);
  for (long i = 0; i < requests + kInFlight; i++) {
    job* j = &jobs[i % kInFlight];
    if (i >= kInFlight) take(j, i - kInFlight, c);
    if (i >= requests) continue;
    submit(j, late_every && i % late_every == 1 ? kLimitNs : 0, NULL);
    if (cancel_every && i % cancel_every == 2) poprt_request_cancel(j->request);
  }
  for (int i = 0; i < kInFlight; i++) free(jobs[i].y);
  return NULL;
}

static counts serve(void) {
  pthread_t threads[kClients];
  counts each[kClients] = {{0}}, all = {0};
  for (int i = 0; i < kClients; i++) pthread_create(&threads[i], NULL, client, &each[i]);
  for (int i = 0; i < kClients; i++) {
    pthread_join(threads[i], NULL);
    all.ok += each[i].ok;
    all.late += each[i].late;
    all.cancelled += each[i].cancelled;
    all.wrong += each[i].wrong;
  }
  return all;
}

static atomic_long callbacks; /* callbacks that were called */

static void on_done(poprt_error_code code, void* user_data) {
  job* j = user_data;
  j->code = code;
  j->done = now(CLOCK_MONOTONIC);
  atomic_fetch_add(&callbacks, 1);
}

static void wait_many(long count, double first_ms, double last_ms) {
  job* jobs = calloc((size_t)count, sizeof *jobs);
  const int64_t begin = now(CLOCK_MONOTONIC);
  for (long i = 0; i < count; i++) {
    job* j = &jobs[i];
    j->y = malloc(y_bytes);
    const double ms = first_ms + (last_ms - first_ms) * (double)i / (double)count;
    j->deadline = now(CLOCK_MONOTONIC) + (int64_t)(ms * 1e6);
    submit(j, (int64_t)(ms * 1e6), on_done);
  }
  const int64_t submitted = now(CLOCK_MONOTONIC) - begin;
  /* A request may be done before its callback is called, which uses the job. */
  while (atomic_load(&callbacks) < count) nanosleep(&(struct timespec){0, 1000000}, NULL);
  counts c = {0};
  int64_t worst = 0;
  long over = 0, early = 0;
  for (long i = 0; i < count; i++) {
    job* j = &jobs[i];
    take(j, 1, &c);
    if (j->code == POPRT_DEADLINE_EXCEEDED) {
      const int64_t late = j->done - j->deadline;
      if (late > worst) worst = late;
      over += late > 5000000;
      early += late < 0;
    }
    free(j->y);
  }
  free(jobs);
  printf("submit_us=%ld ok=%ld late=%ld cancelled=%ld worst_us=%ld over_5ms=%ld early=%ld\n",
         (long)(submitted / 1000), c.ok, c.late, c.cancelled, (long)(worst / 1000), over, early);
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  poprt_executable* executable = NULL;
  const poprt_runner_options options = {.struct_size = sizeof options, .threads = 1};
  check(poprt_executable_open(argv[1], &executable));
  check(poprt_runner_create(executable, &options, &runner));
  x_bytes = poprt_anchor_bytes(poprt_runner_input(runner, 0));
  y_bytes = poprt_anchor_bytes(poprt_runner_output(runner, 0));
  x = malloc(x_bytes);
  expected = malloc(y_bytes);
  for (size_t i = 0; i < x_bytes / sizeof(float); i++) ((float*)x)[i] = (float)(i % 17) / 16;
  const void* inputs[] = {x};
  void* outputs[] = {expected};
  check(poprt_runner_execute_indexed(runner, inputs, outputs));
  if (strcmp(argv[2], "wait") == 0) {
    wait_many(atol(argv[3]), atof(argv[4]), atof(argv[5]));
  } else {
    requests = atol(argv[3]) / 4;
    serve();
    requests = atol(argv[3]);
    late_every = atol(argv[4]);
    cancel_every = atol(argv[5]);
    const int64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
    const counts c = serve();
    printf("cpu_us=%ld wall_us=%ld ok=%ld late=%ld cancelled=%ld wrong=%ld\n",
           (long)((now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1000),
           (long)((now(CLOCK_MONOTONIC) - wall) / 1000), c.ok, c.late, c.cancelled, c.wrong);
  }
  poprt_runner_free(runner);
  poprt_executable_free(executable);
  free(x);
  free(expected);
  return 0;
}
