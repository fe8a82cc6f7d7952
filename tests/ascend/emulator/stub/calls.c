// aclnn: the first call (aclnnXGetWorkspaceSize) packs the arguments, the second (aclnnX) sends them and returns when the results are in memory.
#include "cann.h"
#include <sys/mman.h>

typedef struct {
  Message message;
  const char *name;
  int device, count;
  Object *tensors[64];  // the arguments, for results whose size only the values tell
} Executor;

static void note(Executor *e, Object *o) {
  if (o && (o->kind == 'L')) for (uint64_t i = 0; i < o->n; i++) note(e, o->items[i]);
  else if (o && o->kind == 'T' && e->count < 64) e->tensors[e->count++] = o;
}
static int is_object(uint64_t v) {
  unsigned char in;
  return v >= 65536 && !(v & 7) && !mincore((void *)(v & ~4095ull), 1, &in) && ((Object *)v)->magic == MAGIC;
}
// EMULATED_CANN_CONTIGUOUS=NAME,...: aclnnNAME refuses strided tensors, as some functions do on some chips
static int strided(const Object *o) {
  int64_t step = 1;
  if (o->kind == 'L') {
    for (uint64_t i = 0; i < o->n; i++) if (o->items[i] && strided(o->items[i])) return 1;
    return 0;
  }
  if (o->kind != 'T') return 0;
  for (int64_t i = (int64_t)o->n - 1; i >= 0; i--) {
    if (o->shape[i] != 1 && o->strides[i] != step) return 1;
    step *= o->shape[i];
  }
  return 0;
}
static int refuses(const char *name) {
  const char *list = getenv("EMULATED_CANN_CONTIGUOUS");
  size_t n = strlen(name) - 5;
  for (; list && *list; list += strcspn(list, ",") + (strchr(list, ',') != 0))
    if (strcspn(list, ",") == n && !strncmp(list, name + 5, n)) return 1;
  return 0;
}
static int near(uint64_t v, uint64_t here) { return v > here - (1 << 20) && v < here + (1 << 20); }

// Called by the assembly that build.py writes: name is "aclnnX\0" and the codes of signatures.py, then what lay in the registers and on the stack.
long first_call(const char *name, uint64_t *registers, uint64_t *stack, double *floats) {
  const char *codes = name + strlen(name) + 1;
  Executor *e = calloc(1, sizeof *e);
  Message *m = &e->message;
  e->name = name, e->device = current_device();
  put(m, name, strlen(name) + 1);
  int k = 0, f = 0;
#define ARGUMENT(i) ((i) < 6 ? registers[i] : stack[(i)-6])
#define NUMBER(c, t, v) { t x_ = (t)(v); int64_t w_ = x_; put(m, c, 1), put_number(m, w_); }
  if (*codes == '?') {  // unknown: handles and integers in order, up to two neighbouring pointers into the caller's stack; then what may be floats
    for (uint64_t here = (uint64_t)stack; k < 40; k++) {
      uint64_t v = ARGUMENT(k);
      if (near(v, here) && near(ARGUMENT(k + 1), here) && !is_object(v)) break;
      if (!v || is_object(v)) put_object(m, (Object *)v), note(e, (Object *)v);
      else NUMBER("i", int64_t, v);
    }
    put(m, "x", 1), put(m, floats, 64);
  } else for (; *codes; codes++) {
    double d;
    float g;
    switch (*codes) {
      case 'd': d = f < 8 ? floats[f] : 0, f++, put(m, "d", 1), put(m, &d, 8); break;
      case 'f': memcpy(&g, &floats[f++], 4), d = g, put(m, "d", 1), put(m, &d, 8); break;
      case 'p': put_object(m, (Object *)ARGUMENT(k)), note(e, (Object *)ARGUMENT(k)), k++; break;
      case 's': put_text(m, (const char *)ARGUMENT(k)), k++; break;
      case 'j': NUMBER("i", int32_t, ARGUMENT(k)); k++; break;
      case 'c': NUMBER("i", int8_t, ARGUMENT(k)); k++; break;
      case 'b': NUMBER("b", uint8_t, ARGUMENT(k) & 1); k++; break;
      default: NUMBER("i", int64_t, ARGUMENT(k)); k++;
    }
  }
  for (int i = 0; i < e->count; i++)
    if (strided(e->tensors[i]) && refuses(name)) return free(m->bytes), free(e), fail(561103, "561103: inner error, a view is not supported");
  *(uint64_t *)ARGUMENT(k) = 0, *(Executor **)ARGUMENT(k + 1) = e;
  return OK;
}

static int run_call(void *data) {
  Executor *e = data;
  Answer a;
  int code = request(&e->message, &a);
  if (!code && a.n) {
    int64_t *p = (int64_t *)a.bytes, n = *p++;
    for (; n--; p += 2 + p[1]) {  // which tensor, how many dimensions, their sizes
      Object *o = e->tensors[p[0]];
      memcpy(o->shape, p + 2, (o->n = p[1]) * 8);
    }
  }
  trace("%s %d\n", e->name, code);
  free(e->message.bytes), free(e);
  return code;
}
long second_call(const char *name, uint64_t *registers, uint64_t *stack, double *floats) {  // (workspace, its size, executor, stream)
  Executor *e = (Executor *)registers[2];
  static int empty = -1;  // EMULATED_CANN_EMPTY: nothing is computed, for measuring what a call costs above it
  if (empty < 0) empty = getenv("EMULATED_CANN_EMPTY") != 0;
  if (empty) return trace("%s 0\n", e->name), free(e->message.bytes), free(e), OK;
  static int delay = -1;  // EMULATED_CANN_DELAY: so many milliseconds pass before a call begins, for what the host does meanwhile
  if (delay < 0) delay = getenv("EMULATED_CANN_DELAY") ? atoi(getenv("EMULATED_CANN_DELAY")) : 0;
  if (delay) usleep(delay * 1000);
  int failure = injected(name);
  if (failure) return trace("%s %d\n", name, failure), free(e->message.bytes), free(e), failure;
  return launch((void *)registers[3], run_call, e, 0);
}

// A function of HCCL's that is not emulated.
long refused_call(const char *name, uint64_t *registers, uint64_t *stack, double *floats) {
  char text[200];
  snprintf(text, sizeof text, "%s is not emulated", name);
  return trace("refused %s\n", name), fail(INTERNAL, text);
}
long plain_call(const char *name, uint64_t *registers, uint64_t *stack, double *floats) {
  trace("plain %s\n", name);
  return OK;
}

// Caches of executors would hide the arguments of repeated calls: MindSpore makes the whole call again where there is none.
int CANN(aclSetAclOpExecutorRepeatable, void *e) { return INTERNAL; }
void *CANN(PTAGetExecCache, uint64_t hash, uint64_t *size) { return 0; }
int CANN(CanUsePTACache, const char *name) { return 0; }
