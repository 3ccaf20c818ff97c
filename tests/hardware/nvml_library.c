/* A library with NVML's C interface for tests: what it tells stands in the file `state` beside it, which is read again whenever it changes,
   so that a test changes its devices while a program looks at them.

   One `name value` a line. Lines before the first `device` concern the library as a whole; `device` begins a device, `slice` a MIG slice of
   it. A figure that is not in the file is not supported. `! nvmlFunction CODE` lets a function fail with an error code; with CODE `hang` it
   never returns, with `crash` it takes the process with it. `! * CODE` concerns every function of that device or slice.
   `process PID BYTES compute|graphics [GPU-INSTANCE]` is a process on it (BYTES `-`: not told). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int Return;
typedef void *Device;
typedef unsigned long long Large;

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { PLACES = 256, LINES = 64, TEXT = 160 };

typedef struct {
    int parent; /* The place of the device that a slice is of; -1 for a device, -2 for the library. */
    int count;
    char lines[LINES][TEXT];
} Place;

static Place places[PLACES];
static int place_count, opened;
static struct timespec read_at;
static off_t read_size;

static void path_of_state(char *path, size_t size) {
    Dl_info info;
    dladdr((void *)path_of_state, &info);
    snprintf(path, size, "%s", info.dli_fname);
    char *slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, size - (slash ? slash + 1 - path : 0), "state");
}

static void read_state(void) {
    char path[4096], line[TEXT];
    struct stat found;
    path_of_state(path, sizeof path);
    if (stat(path, &found)) return;
    if (found.st_size == read_size && !memcmp(&found.st_mtim, &read_at, sizeof read_at)) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    read_size = found.st_size;
    read_at = found.st_mtim;
    int device = -1;
    place_count = 1;
    places[0].parent = -2;
    places[0].count = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "device") || !strcmp(line, "slice")) {
            if (place_count == PLACES) abort();
            places[place_count].parent = line[0] == 'd' ? -1 : device;
            places[place_count].count = 0;
            if (line[0] == 'd') device = place_count;
            place_count++;
        } else if (*line) {
            Place *place = &places[place_count - 1];
            if (place->count == LINES) abort();
            strcpy(place->lines[place->count++], line);
        }
    }
    fclose(file);
}

static const char *value(const Place *place, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < place->count; i++)
        if (!strncmp(place->lines[i], name, length) && place->lines[i][length] == ' ') return place->lines[i] + length + 1;
    return NULL;
}

static Return failure(const Place *place, const char *function) {
    for (int i = 0; i < place->count; i++) {
        char name[TEXT], code[TEXT];
        if (sscanf(place->lines[i], "! %159s %159s", name, code) != 2) continue;
        if (strcmp(name, function) && strcmp(name, "*")) continue;
        if (!strcmp(code, "hang")) for (;;) pause();
        if (!strcmp(code, "crash")) { volatile int *nowhere = NULL; *nowhere = 1; }
        return atoi(code);
    }
    return SUCCESS;
}

static Return enter(const char *function, Device handle, Place **place) {
    read_state();
    Return failed = place_count ? failure(&places[0], function) : SUCCESS;
    if (failed) return failed;
    if (!opened) return UNINITIALIZED;
    long number = (long)handle;
    if (number < 0 || number >= place_count) return INVALID_ARGUMENT;
    *place = &places[number];
    return number ? failure(*place, function) : SUCCESS;
}

#define ENTER(handle) Place *place = NULL; Return entered = enter(__func__, handle, &place); if (entered) return entered

static Return number(const Place *place, const char *name, Large *into) {
    const char *text = value(place, name);
    if (!text) return NOT_SUPPORTED;
    *into = strtoull(text, NULL, 0);
    return SUCCESS;
}

static Return small(const Place *place, const char *name, unsigned *into) {
    Large found = 0;
    Return result = number(place, name, &found);
    if (!result) *into = (unsigned)found;
    return result;
}

static Return text(const Place *place, const char *name, char *into, unsigned size) {
    const char *found = value(place, name);
    if (!found) return NOT_SUPPORTED;
    if (strlen(found) >= size) return INSUFFICIENT_SIZE;
    strcpy(into, found);
    return SUCCESS;
}

/* The library */

Return nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    read_state();
    Return failed = place_count ? failure(&places[0], __func__) : SUCCESS;
    if (!failed) opened = 1;
    return failed;
}
Return nvmlShutdown(void) { opened = 0; return SUCCESS; }
const char *nvmlErrorString(Return code) {
    static char words[64];
    snprintf(words, sizeof words, "error %d of the test library", code);
    return words;
}
Return nvmlSystemGetDriverVersion(char *into, unsigned size) { ENTER(0); return text(place, "driver", into, size); }
Return nvmlSystemGetCudaDriverVersion_v2(int *into) { ENTER(0); return small(place, "cuda", (unsigned *)into); }
Return nvmlDeviceGetCount_v2(unsigned *count) {
    ENTER(0);
    *count = 0;
    for (int i = 1; i < place_count; i++) *count += places[i].parent == -1;
    return SUCCESS;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
    ENTER(0);
    for (long i = 1; i < place_count; i++)
        if (places[i].parent == -1 && index-- == 0) { *device = (Device)i; return failure(&places[i], __func__); }
    return INVALID_ARGUMENT;
}

/* Figures of a device */

typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { Large total, free, used; } Memory;
typedef struct { unsigned version; Large total, reserved, free, used; } Memory2;

Return nvmlDeviceGetUUID(Device device, char *into, unsigned size) { ENTER(device); return text(place, "uuid", into, size); }
Return nvmlDeviceGetName(Device device, char *into, unsigned size) { ENTER(device); return text(place, "name", into, size); }
Return nvmlDeviceGetUtilizationRates(Device device, Utilization *into) {
    ENTER(device);
    into->memory = 0;
    small(place, "memory-utilization", &into->memory);
    return small(place, "utilization", &into->gpu);
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory *into) {
    ENTER(device);
    Large reserved = 0;
    number(place, "memory-reserved", &reserved);
    Return result = number(place, "memory-used", &into->used);
    if (!result) result = number(place, "memory-total", &into->total);
    into->used += reserved;
    into->free = into->total - into->used;
    return result;
}
Return nvmlDeviceGetMemoryInfo_v2(Device device, Memory2 *into) {
    ENTER(device);
    into->reserved = 0;
    number(place, "memory-reserved", &into->reserved);
    Return result = number(place, "memory-used", &into->used);
    if (!result) result = number(place, "memory-total", &into->total);
    into->free = into->total - into->used - into->reserved;
    return result;
}
Return nvmlDeviceGetTemperature(Device device, int sensor, unsigned *into) { (void)sensor; ENTER(device); return small(place, "temperature", into); }
Return nvmlDeviceGetPowerUsage(Device device, unsigned *into) { ENTER(device); return small(place, "power", into); }
Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned *into) { ENTER(device); return small(place, "power-limit", into); }
Return nvmlDeviceGetTotalEnergyConsumption(Device device, Large *into) { ENTER(device); return number(place, "energy", into); }
Return nvmlDeviceGetMinorNumber(Device device, unsigned *into) { ENTER(device); return small(place, "minor", into); }
Return nvmlDeviceGetFanSpeed(Device device, unsigned *into) { ENTER(device); return small(place, "fan", into); }
Return nvmlDeviceGetClockInfo(Device device, int kind, unsigned *into) { ENTER(device); return small(place, kind == 2 ? "memory-clock" : "sm-clock", into); }
Return nvmlDeviceGetMaxClockInfo(Device device, int kind, unsigned *into) { ENTER(device); return small(place, kind == 2 ? "memory-clock-max" : "sm-clock-max", into); }
Return nvmlDeviceGetCurrentClocksEventReasons(Device device, Large *into) { ENTER(device); return number(place, "clock-reasons", into); }
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, Large *into) { ENTER(device); return number(place, "clock-reasons", into); }
Return nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned *into) { ENTER(device); return small(place, "pcie-generation", into); }
Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned *into) { ENTER(device); return small(place, "pcie-generation-max", into); }
Return nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned *into) { ENTER(device); return small(place, "pcie-width", into); }
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned *into) { ENTER(device); return small(place, "pcie-width-max", into); }
Return nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned *into) {
    ENTER(device);
    const char *states = value(place, "nvlinks");
    if (!states) return NOT_SUPPORTED;
    if (link >= strlen(states)) return INVALID_ARGUMENT;
    *into = states[link] == '1';
    return SUCCESS;
}
Return nvmlDeviceGetEccMode(Device device, unsigned *now, unsigned *later) {
    ENTER(device);
    Return result = small(place, "ecc", now);
    *later = *now;
    return result;
}
Return nvmlDeviceGetTotalEccErrors(Device device, int error, int counter, Large *into) {
    ENTER(device);
    return number(place, error == 0 ? "ecc-corrected" : counter == 0 ? "ecc-uncorrected" : "ecc-uncorrected-in-all", into);
}
Return nvmlDeviceGetRemappedRows(Device device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
    ENTER(device);
    *corrected = *uncorrected = 0;
    Return result = small(place, "remapping-pending", pending);
    return result ? result : small(place, "remapping-failed", failed);
}

typedef struct {
    unsigned field, scope;
    long long timestamp, latency;
    int type;
    Return result;
    union { double d; unsigned u; unsigned long l; Large ll; } value;
} Field;

Return nvmlDeviceGetFieldValues(Device device, int count, Field *fields) {
    ENTER(device);
    for (int i = 0; i < count; i++) {
        const char *name = fields[i].field == 197 ? "pcie-sent" : fields[i].field == 198 ? "pcie-received" : fields[i].field == 138 ? "nvlink-sent"
            : fields[i].field == 139 ? "nvlink-received" : "no-such-field";
        fields[i].type = 3;
        fields[i].result = number(place, name, &fields[i].value.ll);
    }
    return SUCCESS;
}

/* Processes */

typedef struct { unsigned pid; Large used; unsigned gpu_instance, compute_instance; } Process;

static Return processes(const Place *place, const char *kind, unsigned *count, Process *into) {
    unsigned room = *count, found = 0;
    for (int i = 0; i < place->count; i++) {
        char bytes[TEXT], own[TEXT];
        unsigned pid, instance = 0xFFFFFFFF;
        if (sscanf(place->lines[i], "process %u %159s %159s %u", &pid, bytes, own, &instance) < 3 || strcmp(own, kind)) continue;
        if (into && found < room) {
            into[found].pid = pid;
            into[found].used = strcmp(bytes, "-") ? strtoull(bytes, NULL, 0) : (Large)-1;
            into[found].gpu_instance = instance;
            into[found].compute_instance = 0xFFFFFFFF;
        }
        found++;
    }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}
Return nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned *count, Process *into) { ENTER(device); return processes(place, "compute", count, into); }
Return nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned *count, Process *into) { ENTER(device); return processes(place, "graphics", count, into); }
#ifndef OLD_DRIVER
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, Process *into) { ENTER(device); return processes(place, "compute", count, into); }
Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned *count, Process *into) { ENTER(device); return processes(place, "graphics", count, into); }
#endif

/* MIG */

typedef struct { unsigned multiprocessors, copies, decoders, encoders, jpegs, flows, gpu_slices, compute_slices; Large memory; } Attributes;

Return nvmlDeviceGetMigMode(Device device, unsigned *now, unsigned *later) {
    ENTER(device);
    Return result = small(place, "mig", now);
    *later = *now;
    return result;
}
Return nvmlDeviceGetGpuInstanceId(Device device, unsigned *into) { ENTER(device); return small(place, "gpu-instance", into); }
Return nvmlDeviceGetComputeInstanceId(Device device, unsigned *into) { ENTER(device); return small(place, "compute-instance", into); }
Return nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count) { ENTER(device); *count = 7; return SUCCESS; }
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device *leaf) {
    ENTER(device);
    for (long i = 1; i < place_count; i++) {
        unsigned own = 0;
        if (places[i].parent != place - places || small(&places[i], "index", &own) || own != index) continue;
        *leaf = (Device)i;
        return SUCCESS;
    }
    return NOT_FOUND;
}
Return nvmlDeviceGetAttributes_v2(Device device, Attributes *into) {
    ENTER(device);
    memset(into, 0, sizeof *into);
    return small(place, "multiprocessors", &into->multiprocessors);
}
