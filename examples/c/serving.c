/* Serves several clients at once. Each thread keeps some requests in flight.
 *
 *   serving MODEL.onnx */
#include <poprt/poprt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kClients = 4, kRequests = 50, kInFlight = 3, kPixels = 64, kClasses = 10 };

typedef struct job {
  float image[kPixels], scores[kClasses];
  poprt_request* request;
} job;

static poprt_runner* runner;
static float expected[kClients * kRequests][kClasses];

static void check(poprt_error* error) {
  if (!error) return;
  fprintf(stderr, "serving: %s\n", poprt_error_message(error));
  poprt_error_free(error);
  exit(1);
}

static void draw(job* j, size_t k) {
  for (size_t i = 0; i < kPixels; i++) j->image[i] = (float)(i * (k + 3) % 17) / 16.0f;
}

/* A ring of jobs. Before a job is reused, its request is awaited. */
static void* client(void* number) {
  const size_t first = (uintptr_t)number * kRequests;
  static _Thread_local job jobs[kInFlight];
  uintptr_t right = 0;
  for (size_t i = 0; i < kRequests + kInFlight; i++) {
    job* j = &jobs[i % kInFlight];
    if (j->request) {
      check(poprt_request_wait(j->request, -1));
      poprt_request_free(j->request);
      j->request = NULL;
      right += memcmp(j->scores, expected[first + i - kInFlight], sizeof j->scores) == 0;
    }
    if (i >= kRequests) continue;
    draw(j, first + i);
    const poprt_input in = {"image", 0, j->image, sizeof j->image};
    const poprt_output out = {"scores", 0, j->scores, sizeof j->scores};
    /* This waits while the runner's queue is full (queue_depth of poprt_runner_options, by default
     * at least 64). poprt_runner_submit can fail instead, or let the request wait in a list. */
    check(poprt_runner_execute_async(runner, &in, 1, &out, 1, NULL, NULL, &j->request));
  }
  return (void*)right;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: serving MODEL.onnx\n");
    return 2;
  }
  poprt_compile_options options = {0};
  options.struct_size = sizeof options;
  options.batch_size = 1;
  poprt_compiler* compiler = NULL;
  poprt_executable* executable = NULL;
  check(poprt_compiler_create(&options, &compiler));
  check(poprt_compiler_compile_file(compiler, argv[1], &executable));
  check(poprt_runner_create(executable, NULL, &runner));
  poprt_compiler_free(compiler);
  poprt_executable_free(executable);

  for (size_t k = 0; k < kClients * kRequests; k++) {
    job j;
    draw(&j, k);
    const void* inputs[] = {j.image};
    void* outputs[] = {expected[k]};
    check(poprt_runner_execute_indexed(runner, inputs, outputs));
  }
  pthread_t threads[kClients];
  for (uintptr_t c = 0; c < kClients; c++)
    if (pthread_create(&threads[c], NULL, client, (void*)c)) return 1;
  uintptr_t right = 0;
  for (int c = 0; c < kClients; c++) {
    void* count = NULL;
    pthread_join(threads[c], &count);
    right += (uintptr_t)count;
  }
  printf("%d requests from %d clients, %d right\n", kClients * kRequests, kClients, (int)right);
  poprt_runner_free(runner);
  return 0;
}
