// An emulated CANN: what its files share. Device memory is one shared mapping that the server maps too; server.py computes on it.
#pragma once
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A function of CANN's that is written here; build.py makes an empty one for every other name that the wheel asks for.
#define CANN(name, ...) name(__VA_ARGS__)

enum { OK = 0, INVALID = 161002, INTERNAL = 561000, NO_MEMORY = 207001, LOST = 507899, FORKED = 107002 };

typedef struct Object {  // tensor T, scalar S, integers I, booleans B, floats F, tensors L, scalars l
  uint32_t magic;
  char kind;
  int dtype, format;
  int64_t offset;
  uint64_t n, storage_n;  // dimensions of the view and of the memory; of a list, its length
  int64_t *shape, *strides, *storage_shape;
  void *data;
  struct Object **items;
  char value[16];
} Object;
enum { MAGIC = 0x4ca11ed5 };
void *aclCreateTensor(const int64_t *shape, uint64_t n, int dtype, const int64_t *strides, int64_t offset, int format, const int64_t *storage, uint64_t storage_n, void *data);
int destroy(Object *o);

typedef struct { uint32_t n, room; char *bytes; } Message;
void put(Message *m, const void *p, uint32_t n);
void put_number(Message *m, int64_t v);
void put_text(Message *m, const char *t);
void put_object(Message *m, const Object *o);

typedef struct { int32_t code, n; char bytes[4096]; } Answer;
int request(const Message *m, Answer *a);  // the status; an error's text is what aclGetRecentErrMsg gives
int fail(int code, const char *text);      // keeps the text for aclGetRecentErrMsg, answers the code
int injected(const char *name);            // EMULATED_CANN_FAIL: a status that this call is to answer, or OK

typedef struct Stream Stream;
// Run something in a stream: at once where nothing is before it and waits is 0, and its status is the answer; else later, and synchronising gives its status.
int launch(void *stream, int (*run)(void *), void *data, int waits);
void own_connection(void);  // this thread asks the server by a connection of its own
const char *aclGetRecentErrMsg(void);

char *memory(void);  // the mapping's first byte
int current_device(void);
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
