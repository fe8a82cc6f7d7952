// Memory and devices.
#include "cann.h"

size_t device_size(void), device_space(void);
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static __thread int device;
int current_device(void) { return device; }

// ---------------------------------------------------------------- memory: blocks out of the device's part of the mapping, first fit
typedef struct Block { size_t at, size; int used; struct Block *next; } Block;
static Block *first[8];
static size_t physical[8];

static int reserve(void **p, size_t n) {
  n = (n + 32 + 511) & ~(size_t)511;
  pthread_mutex_lock(&heap);
  Block **list = &first[device & 7], *b;
  if (!*list) *list = calloc(1, sizeof **list), **list = (Block){device_space() * (device & 7), device_space(), 0, 0};
  for (b = *list; b && (b->used || b->size < n);) b = b->next;
  if (b && b->size > n) {
    Block *rest = calloc(1, sizeof *rest);
    *rest = (Block){b->at + n, b->size - n, 0, b->next};
    b->next = rest, b->size = n;
  }
  if (b) b->used = 1, *p = memory() + b->at;
  pthread_mutex_unlock(&heap);
  return b ? OK : fail(NO_MEMORY, "out of device memory");
}
static size_t release(void *p) {
  size_t n = 0;
  pthread_mutex_lock(&heap);
  for (int d = 0; d < 8; d++) {
    for (Block *b = first[d]; b; b = b->next)
      if (b->used && memory() + b->at == p) n = b->size, b->used = 0;
    for (Block *b = first[d]; b && b->next;) {
      Block *next = b->next;
      if (b->used || next->used) b = next;
      else b->size += next->size, b->next = next->next, free(next);
    }
  }
  pthread_mutex_unlock(&heap);
  return n;
}
static int take(int d, int64_t n) {  // of the device's stated size
  int code = n > 0 ? injected("aclrtMallocPhysical") : OK;
  pthread_mutex_lock(&heap);
  if (!code && n > 0 && physical[d] + n > device_size()) code = fail(NO_MEMORY, "out of device memory");
  if (!code) physical[d] += n;
  pthread_mutex_unlock(&heap);
  return code;
}
int CANN(aclrtMalloc, void **p, size_t n, int policy) {
  int code = take(device & 7, n);
  return code ? code : reserve(p, n);
}
int CANN(aclrtFree, void *p) { return release(p), OK; }
int CANN(aclrtMallocAlign32, void **p, size_t n, int policy) { return aclrtMalloc(p, n, policy); }
int CANN(aclrtReserveMemAddress, void **p, size_t n, size_t align, void *expected, uint64_t flags) { return reserve(p, n); }
int CANN(aclrtReleaseMemAddress, void *p) { return release(p), OK; }
typedef struct { int device; size_t n; } Physical;
int CANN(aclrtMallocPhysical, void **handle, size_t n, const void *property, uint64_t flags) {
  int code = take(device & 7, n);
  if (!code) *(Physical *)(*handle = malloc(sizeof(Physical))) = (Physical){device & 7, n};
  return code;
}
int CANN(aclrtFreePhysical, void *handle) {
  Physical *p = handle;
  take(p->device, -(int64_t)p->n);
  free(p);
  return OK;
}
int CANN(aclrtMemGetAllocationGranularity, void *property, int option, size_t *n) { return *n = 2 << 20, OK; }
int CANN(aclrtGetMemInfo, int kind, size_t *unused, size_t *all) { return *all = device_size(), *unused = *all - physical[device & 7], OK; }
int CANN(aclrtMallocHost, void **p, size_t n) { return *p = aligned_alloc(64, (n + 127) & ~63ull), OK; }
int CANN(aclrtFreeHost, void *p) { return free(p), OK; }
int CANN(aclrtMemcpy, void *d, size_t room, const void *s, size_t n, int kind) { return trace("copy %d %zu\n", kind, n), memmove(d, s, n), OK; }
int CANN(aclrtMemset, void *d, size_t room, int v, size_t n) { return memset(d, v, n), OK; }

// ---------------------------------------------------------------- devices and contexts
static int number(const char *name, int otherwise) { const char *s = getenv(name); return s ? atoi(s) : otherwise; }
typedef struct { int device; char unused[64]; } Context;
static Context contexts[8];
int CANN(aclrtGetDeviceCount, uint32_t *n) { return *n = number("EMULATED_CANN_DEVICES", 1), OK; }
int CANN(aclrtSetDevice, int d) { return device = contexts[d & 7].device = d, OK; }
int CANN(aclrtGetDevice, int *d) { return *d = device, OK; }
int CANN(aclrtCreateContext, void **p, int d) { return contexts[d & 7].device = device = d, *p = &contexts[d & 7], OK; }
int CANN(aclrtGetCurrentContext, void **p) { return contexts[device & 7].device = device, *p = &contexts[device & 7], OK; }
int CANN(aclrtSetCurrentContext, void *p) { return device = ((Context *)p)->device, OK; }
const char *CANN(aclrtGetSocName, void) { const char *s = getenv("EMULATED_CANN_SOC"); return s ? s : "Ascend910B1"; }
int CANN(aclrtGetRunMode, int *mode) { return *mode = 1, OK; }
int CANN(aclrtDeviceCanAccessPeer, int *can, int a, int b) { return *can = 1, OK; }
// A thread of MindSpore's asks for callbacks without rest: let it sleep. Callbacks run in their streams.
int CANN(aclrtProcessReport, int ms) { return usleep(ms > 0 && ms < 100 ? ms * 1000 : 100000), OK; }
