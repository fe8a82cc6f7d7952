// hccl: a collective waits in its stream until all ranks have come to it; the server has the memory of every rank, and computes.
#include "cann.h"
#include <signal.h>

typedef struct { char id[128]; int n, rank; } Comm;
typedef struct { Message message; char name[40], what[64]; } Collective;  // what: what happens to it on purpose
static const int from_hccl[] = {2, 6, 3, 1, 0, 9, 10, 4, 7, 8, 11, 27};  // HcclDataType to aclDataType

static void put_memory(Message *m, void *p, int64_t n, int dtype) {
  Object *o = aclCreateTensor(&n, 1, dtype < 0 ? 4 : from_hccl[dtype], 0, 0, 2, &n, 1, n ? p : memory());
  put_object(m, o), destroy(o);
}
// EMULATED_CANN_RANK=RANK:FUNCTION:N:WHAT,...: what happens on a rank (RANK in its environment) at its Nth call of HcclFUNCTION: die, fewer (it says so of the
// elements it has) or a number of seconds, by which it comes late. FUNCTION may be *, any.
static const char *planned(const char *name) {
  static int counts[64];
  static char found[64];
  const char *answer = 0, *rank = getenv("RANK"), *p = getenv("EMULATED_CANN_RANK");
  for (int i = 0; p && *p && rank && i < 64; i++) {
    char function[64], what[64];
    int who, n;
    if (sscanf(p, "%d:%63[^:]:%d:%63[^,]", &who, function, &n, what) == 4 && who == atoi(rank) && (*function == '*' || !strcmp(name + 4, function)) && ++counts[i] == n)
      answer = strcpy(found, what);
    p = strchr(p, ','), p += p != 0;
  }
  return answer;
}
static int come(void *data) {
  Collective *c = data;
  Answer a;
  const char *what = c->what;
  if (!strcmp(what, "die")) trace("%s dies\n", c->name), kill(getpid(), SIGKILL);
  usleep(1e6 * atof(what));
  trace("begin %s\n", c->name);
  int code = request(&c->message, &a);
  trace("%s %d\n", c->name, code);
  free(c->message.bytes), free(c);
  return code;
}
// The message: name, group, number of ranks, rank, extra (the operator, the root), then what is sent and received.
static Collective *begin(const char *name, Comm *c, int64_t extra) {
  Collective *made = calloc(1, sizeof *made);
  int64_t numbers[] = {c->n, c->rank, extra};
  strncpy(made->name, name, sizeof made->name - 1);
  const char *what = strcmp(name, "HcclInit") ? planned(name) : 0;
  if (what) strcpy(made->what, what);
  put(&made->message, name, strlen(name) + 1), put_text(&made->message, c->id);
  for (int i = 0; i < 3; i++) put(&made->message, "i", 1), put_number(&made->message, numbers[i]);
  return made;
}
static int end(Collective *c, void *stream) {
  trace("launch %s\n", c->name);
  return launch(stream, come, c, 1);
}
static int collective(const char *name, Comm *c, void *send, uint64_t sent, void *recv, uint64_t received, int dtype, int64_t extra, void *stream) {
  Collective *made = begin(name, c, extra);
  if (sent && !strcmp(made->what, "fewer")) sent--;
  put_memory(&made->message, send, sent, dtype), put_memory(&made->message, recv, received, dtype);
  return end(made, stream);
}
static void put_counts(Message *m, const uint64_t *counts, int n) { put(m, "I", 1), put_number(m, n), put(m, counts, n * 8); }
static uint64_t total(const uint64_t *counts, int n) {
  uint64_t all = 0;
  for (int i = 0; i < n; i++) all += counts[i];
  return all;
}

// ---------------------------------------------------------------- groups
int CANN(HcclGetRootInfo, char *info) { return memset(info, 0, 4108), sprintf(info, "%d.%ld", getpid(), random()), OK; }
int CANN(HcclCommInitRootInfo, uint32_t n, const char *info, uint32_t rank, Comm **c) {
  *c = calloc(1, sizeof **c + 8192), strncpy((*c)->id, info, 63), (*c)->n = n, (*c)->rank = rank;
  Collective *made = begin("HcclInit", *c, 0);
  put_memory(&made->message, 0, 0, -1), put_memory(&made->message, 0, 0, -1);
  Answer a;
  int code = request(&made->message, &a);
  return free(made->message.bytes), free(made), code;
}
int CANN(HcclCommInitRootInfoConfig, uint32_t n, const char *info, uint32_t rank, void *config, Comm **c) { return HcclCommInitRootInfo(n, info, rank, c); }
int CANN(HcclCommDestroy, Comm *c) { return OK; }
int CANN(HcclGetCommName, Comm *c, char *name) { return strcpy(name, c->id), OK; }
int CANN(HcclGetRankId, Comm *c, uint32_t *v) { return *v = c->rank, OK; }
int CANN(HcclGetRankSize, Comm *c, uint32_t *v) { return *v = c->n, OK; }
int CANN(HcclGetCommAsyncError, Comm *c, int *v) { return *v = 0, OK; }
int CANN(HcclGetCommConfigCapability, void) { return 0; }
const char *CANN(HcclGetErrorString, int code) { return code ? "an error of the emulated HCCL" : "no error"; }
int CANN(HcclSetConfig, int what, int64_t value) { return OK; }
int CANN(HcclSetGlobalCommInfo, void *a, void *b, void *c) { return OK; }
int CANN(HcomExecInitialize, void) { return OK; }
int CANN(HcomExecFinalize, void) { return OK; }

// ---------------------------------------------------------------- collectives
int CANN(HcclAllReduce, void *s, void *r, uint64_t n, int d, int op, Comm *c, void *stream) { return collective("HcclAllReduce", c, s, n, r, n, d, op, stream); }
int CANN(HcclReduce, void *s, void *r, uint64_t n, int d, int op, uint32_t root, Comm *c, void *stream) { return collective("HcclReduce", c, s, n, r, n, d, op | root << 8, stream); }
int CANN(HcclAllGather, void *s, void *r, uint64_t n, int d, Comm *c, void *stream) { return collective("HcclAllGather", c, s, n, r, n * c->n, d, 0, stream); }
int CANN(HcclReduceScatter, void *s, void *r, uint64_t n, int d, int op, Comm *c, void *stream) { return collective("HcclReduceScatter", c, s, n * c->n, r, n, d, op, stream); }
int CANN(HcclBroadcast, void *b, uint64_t n, int d, uint32_t root, Comm *c, void *stream) { return collective("HcclBroadcast", c, b, n, b, n, d, root, stream); }
int CANN(HcclScatter, void *s, void *r, uint64_t n, int d, uint32_t root, Comm *c, void *stream) { return collective("HcclScatter", c, s, (int)root == c->rank ? n * c->n : 0, r, n, d, root, stream); }
int CANN(HcclAlltoAll, void *s, uint64_t n, int d, void *r, uint64_t rn, int rd, Comm *c, void *stream) { return collective("HcclAlltoAll", c, s, n * c->n, r, rn * c->n, d, 0, stream); }
int CANN(HcclBarrier, Comm *c, void *stream) { return collective("HcclBarrier", c, 0, 0, 0, 0, -1, 0, stream); }
int CANN(HcclAlltoAllV, void *s, uint64_t *counts, uint64_t *at, int d, void *r, uint64_t *rcounts, uint64_t *rat, int rd, Comm *c, void *stream) {
  Collective *made = begin("HcclAlltoAllV", c, 0);
  put_memory(&made->message, s, total(counts, c->n), d), put_memory(&made->message, r, total(rcounts, c->n), d);
  return put_counts(&made->message, counts, c->n), end(made, stream);
}
int CANN(HcclAllGatherV, void *s, uint64_t n, void *r, uint64_t *counts, uint64_t *at, int d, Comm *c, void *stream) {
  Collective *made = begin("HcclAllGatherV", c, 0);
  put_memory(&made->message, s, n, d), put_memory(&made->message, r, total(counts, c->n), d);
  return put_counts(&made->message, counts, c->n), end(made, stream);
}
int CANN(HcclReduceScatterV, void *s, uint64_t *counts, uint64_t *at, void *r, uint64_t n, int d, int op, Comm *c, void *stream) {
  Collective *made = begin("HcclReduceScatterV", c, op);
  put_memory(&made->message, s, total(counts, c->n), d), put_memory(&made->message, r, n, d);
  return put_counts(&made->message, counts, c->n), end(made, stream);
}

// ---------------------------------------------------------------- messages: the other rank, whether it is received, the memory
typedef struct { int receives; void *memory; uint64_t n; int dtype; uint32_t peer; } Item;  // HcclSendRecvItem
int messages(const char *name, Item *items, uint32_t n, Comm *c, void *stream) {
  Collective *made = begin(name, c, n);
  for (uint32_t i = 0; i < n; i++) {
    put(&made->message, "i", 1), put_number(&made->message, items[i].peer), put(&made->message, "i", 1), put_number(&made->message, items[i].receives);
    put_memory(&made->message, items[i].memory, items[i].n, items[i].dtype);
  }
  return end(made, stream);
}
int CANN(HcclBatchSendRecv, Item *items, uint32_t n, Comm *c, void *stream) { return messages("HcclBatchSendRecv", items, n, c, stream); }
int CANN(HcclSend, void *p, uint64_t n, int d, uint32_t to, Comm *c, void *stream) { return messages("HcclSend", &(Item){0, p, n, d, to}, 1, c, stream); }
int CANN(HcclRecv, void *p, uint64_t n, int d, uint32_t from, Comm *c, void *stream) { return messages("HcclRecv", &(Item){1, p, n, d, from}, 1, c, stream); }
