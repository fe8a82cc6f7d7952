// hccl: the server has the memory of every rank; a request returns when all ranks have come and the results are there.
#include "cann.h"

typedef struct { char id[64]; int n, rank; uint64_t sent[64], received[64]; } Comm;
static const int from_hccl[] = {2, 6, 3, 1, 0, 9, 10, 4, 7, 8, 11, 27};  // HcclDataType to aclDataType

static void put_memory(Message *m, void *p, int64_t n, int dtype) {
  Object *o = aclCreateTensor(&n, 1, dtype < 0 ? 4 : from_hccl[dtype], 0, 0, 2, &n, 1, n ? p : memory());
  put_object(m, o), destroy(o);
}
// extra: the operator, the root, the other rank, or how much goes to each rank
static int collective(const char *name, Comm *c, void *send, uint64_t sent, void *recv, uint64_t received, int dtype, int64_t extra) {
  Message m = {0};
  Answer a;
  int64_t numbers[] = {c->n, c->rank, extra};
  put(&m, name, strlen(name) + 1), put_text(&m, c->id);
  for (int i = 0; i < 3; i++) put(&m, "i", 1), put_number(&m, numbers[i]);
  put_memory(&m, send, sent, dtype), put_memory(&m, recv, received, dtype);
  int code = request(&m, &a);
  trace("%s %d\n", name, code);
  free(m.bytes);
  return code;
}
int CANN(HcclGetRootInfo, char *info) { return memset(info, 0, 4108), sprintf(info, "%d.%ld", getpid(), random()), OK; }
int CANN(HcclCommInitRootInfo, uint32_t n, const char *info, uint32_t rank, Comm **c) {
  *c = calloc(1, sizeof **c + 8192), strncpy((*c)->id, info, 63), (*c)->n = n, (*c)->rank = rank;
  return collective("HcclBarrier", *c, 0, 0, 0, 0, -1, 0);
}
int CANN(HcclCommInitRootInfoConfig, uint32_t n, const char *info, uint32_t rank, void *config, Comm **c) { return HcclCommInitRootInfo(n, info, rank, c); }
int CANN(HcclGetCommName, Comm *c, char *name) { return strcpy(name, c->id), OK; }
int CANN(HcclGetRankId, Comm *c, uint32_t *v) { return *v = c->rank, OK; }
int CANN(HcclGetRankSize, Comm *c, uint32_t *v) { return *v = c->n, OK; }
int CANN(HcclAllReduce, void *s, void *r, uint64_t n, int d, int op, Comm *c, void *stream) { return collective("HcclAllReduce", c, s, n, r, n, d, op); }
int CANN(HcclReduce, void *s, void *r, uint64_t n, int d, int op, uint32_t root, Comm *c, void *stream) { return collective("HcclReduce", c, s, n, r, n, d, op | root << 8); }
int CANN(HcclAllGather, void *s, void *r, uint64_t n, int d, Comm *c, void *stream) { return collective("HcclAllGather", c, s, n, r, n * c->n, d, 0); }
int CANN(HcclReduceScatter, void *s, void *r, uint64_t n, int d, int op, Comm *c, void *stream) { return collective("HcclReduceScatter", c, s, n * c->n, r, n, d, op); }
int CANN(HcclBroadcast, void *b, uint64_t n, int d, uint32_t root, Comm *c, void *stream) { return collective("HcclBroadcast", c, b, n, b, n, d, root); }
int CANN(HcclScatter, void *s, void *r, uint64_t n, int d, uint32_t root, Comm *c, void *stream) { return collective("HcclScatter", c, s, (int)root == c->rank ? n * c->n : 0, r, n, d, root); }
int CANN(HcclAlltoAll, void *s, uint64_t n, int d, void *r, uint64_t rn, int rd, Comm *c, void *stream) { return collective("HcclAlltoAll", c, s, n * c->n, r, rn * c->n, d, 0); }
int CANN(HcclAlltoAllV, void *s, uint64_t *counts, uint64_t *at, int d, void *r, uint64_t *rcounts, uint64_t *rat, int rd, Comm *c, void *stream) {
  int64_t n = 0, rn = 0, code;
  for (int i = 0; i < c->n; i++) n += counts[i], rn += rcounts[i];
  Message m = {0};
  Answer a;
  int64_t numbers[] = {c->n, c->rank, 0};
  put(&m, "HcclAlltoAllV", 14), put_text(&m, c->id);
  for (int i = 0; i < 3; i++) put(&m, "i", 1), put_number(&m, numbers[i]);
  put_memory(&m, s, n, d), put_memory(&m, r, rn, d);
  put(&m, "I", 1), put_number(&m, c->n), put(&m, counts, c->n * 8);
  code = request(&m, &a);
  free(m.bytes);
  return code;
}
static int pair(const char *name, Comm *c, void *p, uint64_t n, int d, uint32_t sender, uint32_t receiver, uint64_t *count) {
  char id[100];  // a group of the two, for each message a new one
  snprintf(id, sizeof id, "%s %u>%u %lu", c->id, sender, receiver, (*count)++);
  Comm two = {.n = 2, .rank = c->rank == (int)receiver};
  strncpy(two.id, id, sizeof two.id - 1);
  return collective("HcclSend", &two, p, two.rank ? 0 : n, p, two.rank ? n : 0, d, 0);
}
int CANN(HcclSend, void *p, uint64_t n, int d, uint32_t to, Comm *c, void *stream) { return pair("HcclSend", c, p, n, d, c->rank, to, &c->sent[to & 63]); }
int CANN(HcclRecv, void *p, uint64_t n, int d, uint32_t from, Comm *c, void *stream) { return pair("HcclRecv", c, p, n, d, from, c->rank, &c->received[from & 63]); }
int CANN(HcclBarrier, Comm *c, void *stream) { return collective("HcclBarrier", c, 0, 0, 0, 0, -1, 0); }
