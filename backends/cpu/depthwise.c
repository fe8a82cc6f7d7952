/* Convolutions with one input channel in each group, for which neither NumPy nor MindSpore has a fast loop.

sums(x, w, out, sizes) adds up windows of the planes of x, weighted by w; dots(x, g, out, sizes) multiplies them by g,
which is the gradient of the weight. The sizes are (planes, channels, multiplier, rows, phases, columns, out_rows,
out_columns, kernel_rows, kernel_columns, step, row_dilation, column_dilation):

x    (planes, rows, phases, columns); a plane is one channel of one image, and phase p of a row holds its elements
     p, p + phases, ... where the stride of the windows along a row is `phases`; it reaches as far as out_columns does
w    (channels * multiplier, kernel_rows, kernel_columns)
out  of sums, and g: (planes * multiplier, out_rows, out_columns); out_columns is a multiple of 8
step the stride of the windows along a column

All are contiguous, of float or double. Each sum is made in the same order on every processor. Optional: conv.py has the
same in NumPy. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

#define WIDTH 8
#define MANY 4 /* sums of so many vectors are made together, so that none waits for the one before */

typedef float float_vector __attribute__((vector_size(4 * WIDTH)));
typedef double double_vector __attribute__((vector_size(8 * WIDTH)));

typedef struct {
    Py_ssize_t planes, channels, multiplier, rows, phases, columns, out_rows, out_columns, kernel_rows, kernel_columns,
        step, row_dilation, column_dilation;
} Sizes;

/* The position, within a plane of x, of the first element of a window's row and column of the kernel. */
static inline Py_ssize_t place(const Sizes *s, Py_ssize_t row, Py_ssize_t i, Py_ssize_t j)
{
    Py_ssize_t across = j * s->column_dilation;
    return ((row * s->step + i * s->row_dilation) * s->phases + across % s->phases) * s->columns + across / s->phases;
}

/* Rows of `count` vectors, `apart` elements from one to the next in x and `out_apart` in out. */
#define SUMS(type, vector)                                                                                            \
    static inline __attribute__((always_inline)) void some_##type(const Sizes *s, const type *x, const type *w,       \
                                                                  type *out, Py_ssize_t row, Py_ssize_t apart,        \
                                                                  Py_ssize_t out_apart, const int count)              \
    {                                                                                                                 \
        vector sum[MANY] = {{0}};                                                                                     \
        for (Py_ssize_t i = 0; i < s->kernel_rows; i++)                                                               \
            for (Py_ssize_t j = 0; j < s->kernel_columns; j++) {                                                      \
                const type weight = w[i * s->kernel_columns + j], *at = x + place(s, row, i, j);                      \
                for (int k = 0; k < count; k++) {                                                                     \
                    vector a;                                                                                         \
                    memcpy(&a, at + k * apart, sizeof a);                                                             \
                    sum[k] += a * weight;                                                                             \
                }                                                                                                     \
            }                                                                                                         \
        for (int k = 0; k < count; k++)                                                                               \
            memcpy(out + k * out_apart, sum + k, sizeof sum[k]);                                                      \
    }                                                                                                                 \
                                                                                                                      \
    FOR_EACH_PROCESSOR                                                                                                \
    static void sums_##type(const Sizes *s, const type *x, const type *w, type *out)                                  \
    {                                                                                                                 \
        Py_ssize_t size = s->rows * s->phases * s->columns, below = s->step * s->phases * s->columns;                 \
        for (Py_ssize_t p = 0; p < s->planes * s->multiplier; p++) {                                                  \
            const type *plane = x + p / s->multiplier * size;                                                         \
            const type *kernel = w + p % (s->channels * s->multiplier) * s->kernel_rows * s->kernel_columns;          \
            type *to = out + p * s->out_rows * s->out_columns;                                                        \
            Py_ssize_t row = 0;                                                                                       \
            for (; row + MANY <= s->out_rows; row += MANY)                                                            \
                for (Py_ssize_t c = 0; c < s->out_columns; c += WIDTH)                                                \
                    some_##type(s, plane + c, kernel, to + row * s->out_columns + c, row, below, s->out_columns,      \
                                MANY);                                                                                \
            for (; row < s->out_rows; row++) {                                                                        \
                Py_ssize_t c = 0;                                                                                     \
                for (; c + MANY * WIDTH <= s->out_columns; c += MANY * WIDTH)                                         \
                    some_##type(s, plane + c, kernel, to + row * s->out_columns + c, row, WIDTH, WIDTH, MANY);        \
                for (; c < s->out_columns; c += WIDTH)                                                                \
                    some_##type(s, plane + c, kernel, to + row * s->out_columns + c, row, WIDTH, WIDTH, 1);           \
            }                                                                                                         \
        }                                                                                                             \
    }                                                                                                                 \
                                                                                                                      \
    FOR_EACH_PROCESSOR                                                                                                \
    static void dots_##type(const Sizes *s, const type *x, const type *g, type *out)                                  \
    {                                                                                                                 \
        Py_ssize_t size = s->rows * s->phases * s->columns, below = s->step * s->phases * s->columns;                 \
        Py_ssize_t count = s->kernel_rows * s->kernel_columns;                                                        \
        memset(out, 0, s->channels * s->multiplier * count * sizeof(type));                                           \
        for (Py_ssize_t p = 0; p < s->planes * s->multiplier; p++) {                                                  \
            const type *from = g + p * s->out_rows * s->out_columns;                                                  \
            type *kernel = out + p % (s->channels * s->multiplier) * count;                                           \
            for (Py_ssize_t k = 0; k < count; k++) {                                                                  \
                const type *at = x + p / s->multiplier * size                                                         \
                                 + place(s, 0, k / s->kernel_columns, k % s->kernel_columns);                         \
                vector sum[2] = {{0}};                                                                                \
                for (Py_ssize_t row = 0; row < s->out_rows; row++)                                                    \
                    for (Py_ssize_t c = 0; c < s->out_columns; c += WIDTH) {                                          \
                        vector a, b;                                                                                  \
                        memcpy(&a, at + row * below + c, sizeof a);                                                   \
                        memcpy(&b, from + row * s->out_columns + c, sizeof b);                                        \
                        sum[row & 1] += a * b;                                                                        \
                    }                                                                                                 \
                sum[0] += sum[1];                                                                                     \
                for (int i = 0; i < WIDTH; i++)                                                                       \
                    kernel[k] += sum[0][i];                                                                           \
            }                                                                                                         \
        }                                                                                                             \
    }

SUMS(float, float_vector)
SUMS(double, double_vector)

/* Fetch the sizes and buffers, and check that they fit. Returns the size of an element, or 0 with an error. */
static Py_ssize_t enter(PyObject *args, Sizes *s, Py_buffer buffers[3], int second_is_gradient)
{
    PyObject *given[3];
    if (!PyArg_ParseTuple(args, "OOO(nnnnnnnnnnnnn)", given, given + 1, given + 2, &s->planes, &s->channels,
                          &s->multiplier, &s->rows, &s->phases, &s->columns, &s->out_rows, &s->out_columns,
                          &s->kernel_rows, &s->kernel_columns, &s->step, &s->row_dilation, &s->column_dilation))
        return 0;
    int n = 0;
    for (; n < 3; n++)
        if (PyObject_GetBuffer(given[n], buffers + n, (n < 2 ? PyBUF_FORMAT : PyBUF_FORMAT | PyBUF_WRITABLE)) < 0)
            goto refused;
    char kind = buffers[0].format[0];
    Py_ssize_t item = kind == 'f' ? 4 : 8;
    Py_ssize_t kernels = s->channels * s->multiplier * s->kernel_rows * s->kernel_columns;
    Py_ssize_t windows = s->planes * s->multiplier * s->out_rows * s->out_columns;
    Py_ssize_t wanted[3] = {s->planes * s->rows * s->phases * s->columns, second_is_gradient ? windows : kernels,
                            second_is_gradient ? kernels : windows};
    Py_ssize_t across = (s->kernel_columns - 1) * s->column_dilation / s->phases;
    Py_ssize_t down = (s->out_rows - 1) * s->step + (s->kernel_rows - 1) * s->row_dilation;
    int fits = (kind == 'f' || kind == 'd') && s->out_columns % WIDTH == 0 && down < s->rows
               && across + s->out_columns <= s->columns;
    for (int i = 0; i < 3; i++)
        fits = fits && buffers[i].format[0] == kind && buffers[i].len == wanted[i] * item;
    if (fits)
        return item;
    PyErr_SetString(PyExc_ValueError, "the arrays do not have the sizes");
refused:
    while (n--)
        PyBuffer_Release(buffers + n);
    return 0;
}

#define FUNCTION(name, second_is_gradient)                                                                            \
    static PyObject *name(PyObject *self, PyObject *args)                                                             \
    {                                                                                                                 \
        Sizes s;                                                                                                      \
        Py_buffer b[3];                                                                                               \
        Py_ssize_t item = enter(args, &s, b, second_is_gradient);                                                     \
        if (!item)                                                                                                    \
            return NULL;                                                                                              \
        Py_BEGIN_ALLOW_THREADS                                                                                        \
        if (item == 4)                                                                                                \
            name##_float(&s, b[0].buf, b[1].buf, b[2].buf);                                                           \
        else                                                                                                          \
            name##_double(&s, b[0].buf, b[1].buf, b[2].buf);                                                          \
        Py_END_ALLOW_THREADS                                                                                          \
        for (int i = 0; i < 3; i++)                                                                                   \
            PyBuffer_Release(b + i);                                                                                  \
        Py_RETURN_NONE;                                                                                               \
    }

FUNCTION(sums, 0)
FUNCTION(dots, 1)

static PyMethodDef functions[] = {
    {"sums", sums, METH_VARARGS, "sums(x, w, out, sizes): add up the windows of x, weighted by w."},
    {"dots", dots, METH_VARARGS, "dots(x, g, out, sizes): multiply the windows of x by g, for the gradient of w."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "depthwise", "Convolutions with one input channel in each group.", -1, functions,
};

PyMODINIT_FUNC PyInit_depthwise(void)
{
    return PyModule_Create(&module);
}
