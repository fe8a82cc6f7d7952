// Streams and events. What is launched in a stream that has nothing to do runs at once, in the caller; collectives never do, and what follows one in its
// stream waits for it. Each stream that has ever waited has a thread of its own, with its own way to the server.
#include "cann.h"
#include <time.h>

typedef struct Op { int (*run)(void *); void *data; struct Op *next; } Op;
typedef struct Event { double ms; int64_t asked, done; } Event;  // how many records were launched, and how many have run
struct Stream { Op *first, *last; int pending, busy, started, code; char error[1000]; struct Stream *next; };
static Stream *all, standard;  // standard: the stream that has no handle
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static Stream *of(void *handle) { return handle ? handle : &standard; }
static void finish(Stream *s, int code) {  // under the lock
  if (code && !s->code) s->code = code, snprintf(s->error, sizeof s->error, "%s", aclGetRecentErrMsg());
  s->pending--, s->busy = 0;
  pthread_cond_broadcast(&changed);
}
static void *work(void *stream) {
  Stream *s = stream;
  own_connection();
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!s->first || s->busy) pthread_cond_wait(&changed, &lock);
    Op *op = s->first;
    s->first = op->next, s->busy = 1;
    pthread_mutex_unlock(&lock);
    int code = op->run(op->data);
    free(op);
    pthread_mutex_lock(&lock);
    finish(s, code);
  }
}
int launch(void *handle, int (*run)(void *), void *data, int waits) {
  Stream *s = of(handle);
  pthread_mutex_lock(&lock);
  s->pending++;
  if (s->pending == 1 && !waits) {
    s->busy = 1;
    pthread_mutex_unlock(&lock);
    int code = run(data);
    pthread_mutex_lock(&lock);
    finish(s, 0);
    pthread_mutex_unlock(&lock);
    return code;
  }
  Op *op = calloc(1, sizeof *op);
  *op = (Op){run, data, 0};
  s->last = s->first ? (s->last->next = op) : (s->first = op);
  if (!s->started++) {
    pthread_t thread;
    pthread_create(&thread, 0, work, s), pthread_detach(thread);
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return OK;
}
// Wait for one stream, or for all; an error of what was launched in any stream comes out here, and every later time: such a device is broken.
static int drain(Stream *only) {
  int code = OK;
  pthread_mutex_lock(&lock);
  for (Stream *s = only ? only : all; s; s = only ? 0 : s->next)
    while (s->pending) pthread_cond_wait(&changed, &lock);
  for (Stream *s = all; s; s = s->next)
    if (s->code) code = fail(s->code, s->error);
  pthread_mutex_unlock(&lock);
  return code;
}
static int new_stream(void **p) {
  Stream *s = *p = calloc(1, sizeof *s);
  pthread_mutex_lock(&lock);
  if (!all) all = &standard;
  s->next = standard.next, standard.next = s;
  pthread_mutex_unlock(&lock);
  return OK;
}
int CANN(aclrtCreateStream, void **p) { return new_stream(p); }
int CANN(aclrtCreateStreamWithConfig, void **p, uint32_t priority, uint32_t flag) { return new_stream(p); }
int CANN(aclrtDestroyStream, void *s) { return OK; }
int CANN(aclrtStreamQuery, void *s, int *status) { return *status = of(s)->pending != 0, OK; }
static int synchronized(const char *name, Stream *s) {
  trace("synchronize %s\n", name);
  int code = injected(name);
  return code ? code : drain(s);
}
int CANN(aclrtSynchronizeStream, void *s) { return synchronized("aclrtSynchronizeStream", of(s)); }
int CANN(aclrtSynchronizeStreamWithTimeout, void *s, int ms) { return synchronized("aclrtSynchronizeStream", of(s)); }
int CANN(aclrtSynchronizeDevice, void) { return synchronized("aclrtSynchronizeDevice", 0); }
int CANN(aclrtSynchronizeDeviceWithTimeout, int ms) { return synchronized("aclrtSynchronizeDevice", 0); }

// ---------------------------------------------------------------- events
static int new_event(void **p) { return *p = calloc(1, sizeof(Event)), OK; }
int CANN(aclrtCreateEvent, void **p) { return new_event(p); }
int CANN(aclrtCreateEventWithFlag, void **p, uint32_t flag) { return new_event(p); }
int CANN(aclrtCreateEventExWithFlag, void **p, uint32_t flag) { return new_event(p); }
int CANN(aclrtDestroyEvent, void *event) { return OK; }  // a stream may still have to come to it
typedef struct { Event *event; int64_t number; } Mark;
static Mark *mark(Event *event, int more) {
  Mark *m = malloc(sizeof *m);
  pthread_mutex_lock(&lock);
  *m = (Mark){event, event->asked += more};
  pthread_mutex_unlock(&lock);
  return m;
}
static int record(void *data) {
  Mark *m = data;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  pthread_mutex_lock(&lock);
  m->event->ms = t.tv_sec * 1e3 + t.tv_nsec * 1e-6, m->event->done = m->number;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return free(m), OK;
}
static int await(void *data) {
  Mark *m = data;
  pthread_mutex_lock(&lock);
  while (m->event->done < m->number) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return free(m), OK;
}
int CANN(aclrtRecordEvent, void *event, void *s) { return launch(s, record, mark(event, 1), 0); }
int CANN(aclrtStreamWaitEvent, void *s, void *event) {
  Mark *m = mark(event, 0);
  return launch(s, await, m, m->event->done < m->number);
}
int CANN(aclrtSynchronizeEvent, void *event) {
  trace("synchronize aclrtSynchronizeEvent\n"), await(mark(event, 0));
  return injected("aclrtSynchronizeEvent");
}
int CANN(aclrtQueryEventStatus, Event *event, int *status) { return *status = event->done >= event->asked, OK; }
int CANN(aclrtEventElapsedTime, float *ms, Event *a, Event *b) { return *ms = b->ms - a->ms, OK; }

// ---------------------------------------------------------------- copies and callbacks
typedef struct { void *to, *from; size_t n; int kind, value; } Copy;
static int copy(void *data) {
  Copy *c = data;
  if (c->kind == 1) memcpy(c->to, c->from, c->n), free(c->from);
  else if (c->kind < 0) memset(c->to, c->value, c->n);
  else memmove(c->to, c->from, c->n);
  return free(c), OK;
}
int CANN(aclrtMemcpyAsync, void *d, size_t room, const void *s, size_t n, int kind, void *stream) {  // 1: from the host, whose memory is read at once
  Copy *c = malloc(sizeof *c);
  *c = (Copy){d, (void *)s, n, kind, 0};
  if (kind == 1) c->from = memcpy(malloc(n + 1), s, n);
  return trace("copy %d %zu\n", kind, n), launch(stream, copy, c, 0);
}
int CANN(aclrtMemsetAsync, void *d, size_t room, int v, size_t n, void *stream) {
  Copy *c = malloc(sizeof *c);
  *c = (Copy){d, 0, n, -1, v};
  return launch(stream, copy, c, 0);
}
typedef struct { void (*call)(void *); void *data; } Callback;
static int call_back(void *data) {
  Callback *c = data;
  return c->call(c->data), free(c), OK;
}
int CANN(aclrtLaunchCallback, void (*callback)(void *), void *data, int block, void *stream) {
  Callback *c = malloc(sizeof *c);
  *c = (Callback){callback, data};
  return launch(stream, call_back, c, 0);
}
