// The way to the server, errors, and failures made on purpose.
#include "cann.h"
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { DEVICES = 8, SPACE = 16 };  // MindSpore reserves a device's whole size for each stream, and touches little of it: addresses are cheap
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int common = -1, memory_file = -1;
static __thread int connection = -1;  // this thread's own, or the common one, which is used under the lock
static pid_t owner;
static char *mapping;
static size_t device_bytes;
static __thread char message[4096];
static FILE *log_file;

char *memory(void) { return mapping; }
size_t device_size(void) { return device_bytes; }
size_t device_space(void) { return device_bytes * SPACE; }
const char *CANN(aclGetRecentErrMsg, void) { return message; }

void trace(const char *format, ...) {
  if (!log_file) return;
  va_list args;
  va_start(args, format), vfprintf(log_file, format, args), va_end(args);
}

int fail(int code, const char *text) {
  snprintf(message, sizeof message, "%s", text);
  return code;
}

static void transfer(int connection, ssize_t (*step)(int, void *, size_t, int), void *p, size_t n) {
  for (char *c = p; n;) {
    ssize_t k = step(connection, c, n, MSG_NOSIGNAL);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      fprintf(stderr, "emulated CANN: the server is gone\n");
      _exit(70);
    }
    c += k, n -= k;
  }
}

static void hand_over(int connection, int fd) {  // the memory's descriptor goes with the first byte
  char byte = 0, control[CMSG_SPACE(sizeof fd)] = {0};
  struct iovec v = {&byte, 1};
  struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *c = CMSG_FIRSTHDR(&h);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(c), &fd, sizeof fd);
  sendmsg(connection, &h, 0);
}

static int connected(void) {
  const char *path = getenv("EMULATED_CANN");
  if (!path) return -1;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int to = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(to, (void *)&address, sizeof address)) return perror(path), close(to), -1;
  return hand_over(to, memory_file), to;
}

__attribute__((constructor)) static void start(void) {
  const char *log = getenv("EMULATED_CANN_TRACE"), *size = getenv("EMULATED_CANN_MEMORY_MB");
  if (log && (log_file = fopen(log, "a"))) setvbuf(log_file, 0, _IOLBF, 0);
  owner = getpid();
  device_bytes = (size_t)(size ? atoi(size) : 32768) << 20;
  int fd = memfd_create("npu", MFD_CLOEXEC);
  size_t bytes = device_space() * DEVICES;
  if (ftruncate(fd, bytes)) perror("emulated CANN: ftruncate");
  mapping = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  memory_file = fd, common = connected();
}
void own_connection(void) { connection = connected(); }

int request(const Message *m, Answer *a) {
  a->n = 0;
  if (getpid() != owner) return fail(FORKED, "the NPU's context does not survive a fork: start the process by spawn");
  int own = connection >= 0, to = own ? connection : common;
  if (to < 0) return fail(INTERNAL, "EMULATED_CANN names no server's socket");
  int32_t head[2];
  if (!own) pthread_mutex_lock(&lock);
  transfer(to, (void *)send, (void *)&m->n, 4), transfer(to, (void *)send, m->bytes, m->n), transfer(to, recv, head, 8);
  a->code = head[0], a->n = head[1];
  transfer(to, recv, a->bytes, a->n);
  if (!own) pthread_mutex_unlock(&lock);
  if (a->code) snprintf(message, sizeof message, "%.*s", a->n, a->bytes);
  return a->code;
}

// EMULATED_CANN_FAIL=NAME:N,...: the Nth call of NAME fails (0: every one). NAME: an aclnn function, aclrtMallocPhysical, or "device": from the Nth call on it is lost.
int injected(const char *name) {
  static int counts[64], lost;
  const char *p = getenv("EMULATED_CANN_FAIL");
  char text[200];
  for (int i = 0; p && *p && i < 64; i++) {
    const char *colon = strchr(p, ':');
    if (!colon) break;
    size_t n = colon - p;
    int wanted = atoi(colon + 1), device = n == 6 && !strncmp(p, "device", n);
    if (device ? !strncmp(name, "aclnn", 5) : strlen(name) == n && !strncmp(p, name, n)) {
      int now = ++counts[i];
      if (device && now >= wanted) lost = 1;
      else if (!device && (!wanted || now == wanted)) {
        snprintf(text, sizeof text, "[injected] %s failed on purpose, at its call %d", name, now);
        return fail(strncmp(name, "aclrtMalloc", 11) ? INTERNAL : NO_MEMORY, text);
      }
    }
    p = strchr(colon, ',');
    p += p != 0;
  }
  return lost ? fail(LOST, "[injected] the device is lost") : OK;
}
