/* Emulated IPUs.
 *
 * A process has a number of virtual devices that share the CPU: POPRT_DEVICES from the environment,
 * 4 without it. A device is busy while a handle or a runner holds it.
 *
 * Example:
 *     poprt_device_manager* manager = NULL;
 *     poprt_device* device = NULL;
 *     check(poprt_device_manager_create(NULL, &manager));
 *     check(poprt_device_manager_get_device(manager, 1, &device));
 *     printf("device %lld of %zu\n", (long long)poprt_device_id(device),
 *            poprt_device_manager_device_count(manager));
 *     poprt_device_free(device);
 *     poprt_device_manager_free(manager);
 */
#ifndef POPRT_DEVICE_H
#define POPRT_DEVICE_H

#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poprt_device_manager poprt_device_manager;
typedef struct poprt_device poprt_device;

/* Set struct_size to sizeof(poprt_device_manager_options) and the rest to zero. */
typedef struct poprt_device_manager_options {
  size_t struct_size;
  int32_t device_count; /* how many devices this manager sees; 0: POPRT_DEVICES, or 4 */
  int32_t reserved;     /* zero */
} poprt_device_manager_options;

/* Managers own no devices: all see the same ones. `options` may be null. Thread-safe.
 * Errors: invalid_argument (count outside 1..1024, POPRT_DEVICES is no such number). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_create(
    const poprt_device_manager_options* options, poprt_device_manager** out_manager);

/* Busy ones included; 0 for null. Since 0.1. */
POPRT_API size_t poprt_device_manager_device_count(const poprt_device_manager* manager);

/* A free device of `num_ipus` IPUs (1: multi-IPU devices do not exist yet).
 * Errors: unavailable (all are busy), invalid_argument, unimplemented (num_ipus > 1). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_get_device(
    const poprt_device_manager* manager, int64_t num_ipus, poprt_device** out_device);

/* The device of that id, 0 to device_count - 1. Errors: not_found, unavailable. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_get_specific_device(
    const poprt_device_manager* manager, int64_t id, poprt_device** out_device);

/* "ipu21": what the emulator stands for. Static storage. Since 0.1. */
POPRT_API const char* poprt_device_manager_ipu_hardware_version(
    const poprt_device_manager* manager);

/* Null is allowed; devices live on. Any thread. Since 0.1. */
POPRT_API void poprt_device_manager_free(poprt_device_manager* manager);

/* -1 for null. Since 0.1. */
POPRT_API int64_t poprt_device_id(const poprt_device* device);
/* 21 for "ipu21"; 0 for null. Since 0.1. */
POPRT_API int32_t poprt_device_ipu_version(const poprt_device* device);
/* Null is allowed; a runner on the device keeps it. Any thread. Since 0.1. */
POPRT_API void poprt_device_free(poprt_device* device);

#ifdef __cplusplus
}
#endif
#endif
