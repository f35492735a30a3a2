/* Emulated IPUs.
 *
 * A process has a number of virtual IPUs that share the CPU: POPRT_DEVICES from the environment, by
 * default 16384. POPRT_VISIBLE_DEVICES, for example "0,2-3", selects those that are used. Each
 * process has its own IPUs unless POPRT_SHARED_DEVICES is 1 (all processes of the user share them)
 * or a folder (all processes that name it share them). A device is busy while a handle, session or
 * runner holds it. The devices of a process become free when it ends for any reason.
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
#include "poprt/executable.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poprt_device_manager poprt_device_manager;
typedef struct poprt_device poprt_device;

/* Set struct_size to sizeof(poprt_device_manager_options) and the rest to zero. */
typedef struct poprt_device_manager_options {
  size_t struct_size;
  int32_t device_count; /* number of devices of this manager; 0: POPRT_DEVICES, or 16384 */
  int32_t reserved;     /* zero */
  const char* shared;   /* null: POPRT_SHARED_DEVICES; "0", "1" or an absolute path */
  const char* visible;  /* null: POPRT_VISIBLE_DEVICES; ids as in "0,2-3" */
} poprt_device_manager_options;

/* The behaviour of a request if all suitable devices are busy. */
typedef int32_t poprt_wait_strategy;
enum {
  POPRT_NO_WAIT = 0,           /* fail at once */
  POPRT_WAIT_WITH_TIMEOUT = 1, /* fail after wait_timeout_ns */
  POPRT_WAIT_FOREVER = 2
};

/* Requirements for a device. Set struct_size and the rest to zero; zero means default. */
typedef struct poprt_device_request {
  size_t struct_size;
  int64_t num_ipus;       /* 0: 1, or the number that the executable needs */
  int64_t min_tiles;      /* per IPU */
  int32_t ipu_version;    /* 0: any; 21 is a C600 IPU */
  int32_t remote_buffers; /* non-zero: needed */
  poprt_wait_strategy wait_strategy;
  int32_t reserved;        /* zero */
  int64_t wait_timeout_ns; /* from the beginning of the call */
  int64_t wait_sleep_ns;   /* between two checks of other processes; 0: 15 seconds */
} poprt_device_request;

/* Managers do not own devices: managers with the same `shared` have the same ones. `options` may be
 * null. Thread-safe. Errors: invalid_argument (count outside 1..1048576, POPRT_DEVICES is not such
 * a number, an ill-formed list of visible devices, `shared` is not an absolute path),
 * permission_denied (the folder of shared devices cannot be made or belongs to another user).
 * Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_create(
    const poprt_device_manager_options* options, poprt_device_manager** out_manager);

/* The number of devices, including busy ones; 0 for null. Since 0.1. */
POPRT_API size_t poprt_device_manager_device_count(const poprt_device_manager* manager);

/* The ids of the visible IPUs in ascending order; -1 if `index` is out of range. Since 0.1. */
POPRT_API int64_t poprt_device_manager_device_id(const poprt_device_manager* manager, size_t index);

/* Acquires a free device of `num_ipus` IPUs without waiting. Errors: unavailable (all are busy),
 * invalid_argument, not_found (fewer are visible), permission_denied (the locks of shared devices
 * cannot be opened). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_get_device(
    const poprt_device_manager* manager, int64_t num_ipus, poprt_device** out_device);

/* Acquires the device with that id without waiting. Errors: not_found, unavailable,
 * permission_denied (the locks of shared devices cannot be opened). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_get_specific_device(
    const poprt_device_manager* manager, int64_t id, poprt_device** out_device);

/* Acquires a device that meets `request` (null: any device) and, if `executable` is not null,
 * suits it. `id` is the device's id, or -1 for any. Waits as `request` specifies. Errors:
 * not_found (no visible device can ever meet the request), unavailable (the suitable devices are
 * busy), invalid_argument, permission_denied (the locks of shared devices cannot be opened).
 * Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_acquire(
    const poprt_device_manager* manager, const poprt_device_request* request,
    const poprt_executable* executable, int64_t id, poprt_device** out_device);

/* Create an IPU model: a separate device that is never busy. If `ipu_version` is 0, it is 2. If
 * `tiles_per_ipu` is 0, it is the number of the version. The small model has 4 tiles. Results
 * are those of any device. Errors: invalid_argument (a version other than 1, 2, 21; counts out
 * of range). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_create_ipu_model_device(
    const poprt_device_manager* manager, int64_t num_ipus, int32_t ipu_version,
    int64_t tiles_per_ipu, poprt_device** out_device);
POPRT_API POPRT_MUST_USE poprt_error* poprt_device_manager_create_small_ipu_model_device(
    const poprt_device_manager* manager, int64_t num_ipus, int32_t ipu_version,
    poprt_device** out_device);

/* The emulated hardware version, "ipu21". Static storage. Since 0.1. */
POPRT_API const char* poprt_device_manager_ipu_hardware_version(
    const poprt_device_manager* manager);

/* Null is allowed. Devices remain valid. Any thread. Since 0.1. */
POPRT_API void poprt_device_manager_free(poprt_device_manager* manager);

/* The id of the first IPU of the device; -1 for null and IPU models. Since 0.1. */
POPRT_API int64_t poprt_device_id(const poprt_device* device);
/* 21 for "ipu21"; 0 for null. Since 0.1. */
POPRT_API int32_t poprt_device_ipu_version(const poprt_device* device);
/* 0 for null. Since 0.1. */
POPRT_API int64_t poprt_device_num_ipus(const poprt_device* device);
POPRT_API int64_t poprt_device_tiles_per_ipu(const poprt_device* device);
/* 1 for an IPU model, else 0. Since 0.1. */
POPRT_API int32_t poprt_device_is_ipu_model(const poprt_device* device);
/* Null is allowed. A runner or session on the device keeps it. Any thread. Since 0.1. */
POPRT_API void poprt_device_free(poprt_device* device);

#ifdef __cplusplus
}
#endif
#endif
