// Tensors, scalars and lists, as calls describe them.
#include "cann.h"

static int64_t *copy(const int64_t *v, uint64_t n) {
  int64_t *p = malloc(n * 8 + 8);
  return n ? memcpy(p, v, n * 8) : p;
}
static Object *make(char kind, uint64_t n) {
  Object *o = calloc(1, sizeof *o);
  o->magic = MAGIC, o->kind = kind, o->n = n;
  return o;
}
size_t CANN(aclDataTypeSize, int d) {
  static const char sizes[] = {4, 2, 1, 4, 1, 0, 2, 2, 4, 8, 8, 8, 1, 0, 0, 0, 8, 16};
  return d == 27 ? 2 : d == 33 ? 4 : d >= 0 && d < (int)sizeof sizes ? sizes[d] : 0;
}
void *CANN(aclCreateTensor, const int64_t *shape, uint64_t n, int dtype, const int64_t *strides, int64_t offset, int format, const int64_t *storage, uint64_t storage_n, void *data) {
  Object *o = make('T', n);
  o->shape = copy(shape, n), o->storage_shape = copy(storage, storage_n), o->storage_n = storage_n;
  o->dtype = dtype, o->format = format, o->offset = offset, o->data = data;
  o->strides = copy(strides ? strides : shape, n);
  int64_t step = 1;
  for (int64_t i = (int64_t)n - 1; !strides && i >= 0; i--) o->strides[i] = step, step *= shape[i];
  return o;
}
void *CANN(aclCreateScalar, void *value, int dtype) {
  Object *o = make('S', 1);
  o->dtype = dtype;
  memcpy(o->value, value, aclDataTypeSize(dtype));
  return o;
}
void *CANN(aclCreateIntArray, const int64_t *v, uint64_t n) {
  Object *o = make('I', n);
  o->shape = copy(v, n);
  return o;
}
void *CANN(aclCreateBoolArray, const uint8_t *v, uint64_t n) {
  Object *o = make('B', n);
  o->shape = calloc(n + 1, 8);
  for (uint64_t i = 0; i < n; i++) o->shape[i] = v[i];
  return o;
}
void *CANN(aclCreateFloatArray, const float *v, uint64_t n) {
  Object *o = make('F', n);
  o->shape = calloc(n + 1, 8);
  for (uint64_t i = 0; i < n; i++) ((double *)o->shape)[i] = v[i];
  return o;
}
static void *list(char kind, Object *const *v, uint64_t n) {
  Object *o = make(kind, n);
  o->items = malloc(n * 8 + 8);
  memcpy(o->items, v, n * 8);
  return o;
}
void *CANN(aclCreateTensorList, Object *const *v, uint64_t n) { return list('L', v, n); }
void *CANN(aclCreateScalarList, Object *const *v, uint64_t n) { return list('l', v, n); }

int destroy(Object *o) {
  if (!o || o->magic != MAGIC) return OK;
  for (uint64_t i = 0; o->items && i < o->n; i++) destroy(o->items[i]);
  free(o->shape), free(o->strides), free(o->storage_shape), free(o->items);
  o->magic = 0;
  free(o);
  return OK;
}
int CANN(aclDestroyTensor, Object *o) { return destroy(o); }
int CANN(aclDestroyScalar, Object *o) { return destroy(o); }
int CANN(aclDestroyIntArray, Object *o) { return destroy(o); }
int CANN(aclDestroyBoolArray, Object *o) { return destroy(o); }
int CANN(aclDestroyFloatArray, Object *o) { return destroy(o); }
int CANN(aclDestroyTensorList, Object *o) { return destroy(o); }
int CANN(aclDestroyScalarList, Object *o) { return destroy(o); }

int CANN(aclGetViewShape, Object *o, int64_t **v, uint64_t *n) { return *v = copy(o->shape, *n = o->n), OK; }
int CANN(aclGetViewStrides, Object *o, int64_t **v, uint64_t *n) { return *v = copy(o->strides, *n = o->n), OK; }
int CANN(aclGetStorageShape, Object *o, int64_t **v, uint64_t *n) { return *v = copy(o->storage_shape, *n = o->storage_n), OK; }
int CANN(aclGetViewOffset, Object *o, int64_t *v) { return *v = o->offset, OK; }
int CANN(aclGetDataType, Object *o, int *v) { return *v = o->dtype, OK; }
int CANN(aclGetFormat, Object *o, int *v) { return *v = o->format, OK; }
int CANN(aclGetRawTensorAddr, Object *o, void **v) { return *v = o->data, OK; }
int CANN(aclSetRawTensorAddr, Object *o, void *v) { return o->data = v, OK; }

// ---------------------------------------------------------------- messages: a byte of kind, then numbers of eight bytes
void put(Message *m, const void *p, uint32_t n) {
  if (m->n + n > m->room) m->bytes = realloc(m->bytes, m->room = (m->n + n) * 2 + 256);
  memcpy(m->bytes + m->n, p, n);
  m->n += n;
}
void put_number(Message *m, int64_t v) { put(m, &v, 8); }
void put_text(Message *m, const char *t) {
  put(m, "s", 1), put_number(m, t ? strlen(t) : 0);
  if (t) put(m, t, strlen(t));
}
void put_object(Message *m, const Object *o) {
  put(m, o ? &o->kind : "N", 1);
  if (!o) return;
  switch (o->kind) {
    case 'T':
      put_number(m, o->dtype), put_number(m, o->format), put_number(m, o->data ? (char *)o->data - memory() : -1);
      put_number(m, o->offset), put_number(m, o->n), put(m, o->shape, o->n * 8), put(m, o->strides, o->n * 8);
      break;
    case 'S': put_number(m, o->dtype), put(m, o->value, 16); break;
    case 'L': case 'l':
      put_number(m, o->n);
      for (uint64_t i = 0; i < o->n; i++) put_object(m, o->items[i]);
      break;
    default: put_number(m, o->n), put(m, o->shape, o->n * 8);
  }
}
