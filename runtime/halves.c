/* Conversions between float32 and the half types, for which neither NumPy nor MindSpore has a fast loop.

to_float16 and to_bfloat16 round to the nearest even; a NaN keeps its sign, in float16 also the bits that fit.
from_float16 and from_bfloat16 are exact; from_float16 makes a signaling NaN quiet, as processors do. All take two
contiguous buffers with as many elements, (source, result). The loops have no branches, so that compilers vectorize
them; with GCC on x86-64 there is a second version of each for AVX2, chosen at run time, which for float16 uses the
processor's own conversions. Optional: host.py has the same in NumPy. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#define HAS_CONVERSIONS /* every processor with AVX2 has F16C, too */
#else
#define FOR_EACH_PROCESSOR
#endif

static inline float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

/* Return a where the condition is true, else b, by operations on bits: a branch keeps compilers from vectorizing. */
static inline uint32_t choose(int condition, uint32_t a, uint32_t b)
{
    return b ^ ((a ^ b) & (0u - (uint32_t)condition));
}

FOR_EACH_PROCESSOR
static void round_float16(const uint32_t *restrict source, uint16_t *restrict result, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t sign = source[i] >> 16 & 0x8000, size = source[i] & 0x7FFFFFFF;
        /* normal numbers: change the bias of the exponent and drop 13 bits */
        uint32_t normal = (size + 0xFFF + (size >> 13 & 1) - (112u << 23)) >> 13;
        /* subnormal numbers: adding 0.5 moves their bits into place */
        uint32_t small = bits_of(as_float(size) + 0.5f) - 0x3F000000;
        uint32_t r = choose((int32_t)size < 0x38800000, small, normal);
        r = choose((int32_t)size > 0x477FEFFF, 0x7C00, r);
        r = choose((int32_t)size > 0x7F800000, 0x7E00 | (size >> 13 & 0x3FF), r);
        result[i] = (uint16_t)(r | sign);
    }
}

FOR_EACH_PROCESSOR
static void widen_float16(const uint16_t *restrict source, uint32_t *restrict result, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t h = source[i], sign = (h & 0x8000) << 16, size = (h & 0x7FFF) << 13;
        uint32_t normal = size + (112u << 23);
        /* subnormal numbers: the fraction of 2^-14 without the 1 that a normal number has */
        uint32_t small = bits_of(as_float(size + (113u << 23)) - as_float(113u << 23));
        uint32_t r = choose((int32_t)size < 0x00800000, small, normal);
        r = choose((int32_t)size > 0x0F7FFFFF, normal + (112u << 23), r);
        r = choose((int32_t)size > 0x0F800000, r | 0x400000, r); /* a quiet NaN */
        result[i] = r | sign;
    }
}

#ifdef HAS_CONVERSIONS
__attribute__((target("avx2,f16c")))
static void round_float16_at_once(const uint32_t *source, uint16_t *result, Py_ssize_t n)
{
    Py_ssize_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 x = _mm256_loadu_ps((const float *)source + i);
        _mm_storeu_si128((__m128i *)(result + i), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    round_float16(source + i, result + i, n - i);
}

__attribute__((target("avx2,f16c")))
static void widen_float16_at_once(const uint16_t *source, uint32_t *result, Py_ssize_t n)
{
    Py_ssize_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 x = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(source + i)));
        _mm256_storeu_ps((float *)result + i, x);
    }
    widen_float16(source + i, result + i, n - i);
}
#endif

/* Chosen when the module is imported. */
static void (*best_round_float16)(const uint32_t *, uint16_t *, Py_ssize_t);
static void (*best_widen_float16)(const uint16_t *, uint32_t *, Py_ssize_t);

FOR_EACH_PROCESSOR
static void round_bfloat16(const uint32_t *restrict source, uint16_t *restrict result, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t x = source[i], r = (x + 0x7FFF + (x >> 16 & 1)) >> 16;
        result[i] = (uint16_t)choose((int32_t)(x & 0x7FFFFFFF) > 0x7F800000, (x >> 16 & 0x8000) | 0x7FC0, r);
    }
}

FOR_EACH_PROCESSOR
static void widen_bfloat16(const uint16_t *restrict source, uint32_t *restrict result, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        result[i] = (uint32_t)source[i] << 16;
}

/* Fetch the two buffers and check that they have as many elements. Returns their number, or -1 with an error. */
static Py_ssize_t enter(PyObject *args, Py_buffer *source, Py_buffer *result, Py_ssize_t from, Py_ssize_t to)
{
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO", &a, &b) || PyObject_GetBuffer(a, source, PyBUF_SIMPLE) < 0)
        return -1;
    if (PyObject_GetBuffer(b, result, PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(source);
        return -1;
    }
    if (source->len / from == result->len / to && source->len % from == 0 && result->len % to == 0)
        return source->len / from;
    PyBuffer_Release(source);
    PyBuffer_Release(result);
    PyErr_SetString(PyExc_ValueError, "the two arrays have different numbers of elements");
    return -1;
}

#define CONVERSION(name, loop, from, to)                                                                              \
    static PyObject *name(PyObject *self, PyObject *args)                                                             \
    {                                                                                                                 \
        Py_buffer source, result;                                                                                     \
        Py_ssize_t n = enter(args, &source, &result, from, to);                                                       \
        if (n < 0)                                                                                                    \
            return NULL;                                                                                              \
        Py_BEGIN_ALLOW_THREADS                                                                                        \
        loop(source.buf, result.buf, n);                                                                              \
        Py_END_ALLOW_THREADS                                                                                          \
        PyBuffer_Release(&source);                                                                                    \
        PyBuffer_Release(&result);                                                                                    \
        Py_RETURN_NONE;                                                                                               \
    }

CONVERSION(to_float16, best_round_float16, 4, 2)
CONVERSION(from_float16, best_widen_float16, 2, 4)
CONVERSION(to_bfloat16, round_bfloat16, 4, 2)
CONVERSION(from_bfloat16, widen_bfloat16, 2, 4)

static PyMethodDef functions[] = {
    {"to_float16", to_float16, METH_VARARGS, "to_float16(source, result): round float32 to float16."},
    {"from_float16", from_float16, METH_VARARGS, "from_float16(source, result): convert float16 to float32."},
    {"to_bfloat16", to_bfloat16, METH_VARARGS, "to_bfloat16(source, result): round float32 to bfloat16."},
    {"from_bfloat16", from_bfloat16, METH_VARARGS, "from_bfloat16(source, result): convert bfloat16 to float32."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "halves", "Loops that convert between float32 and the half types.", -1, functions,
};

PyMODINIT_FUNC PyInit_halves(void)
{
    best_round_float16 = round_float16;
    best_widen_float16 = widen_float16;
#ifdef HAS_CONVERSIONS
    if (__builtin_cpu_supports("avx2")) {
        best_round_float16 = round_float16_at_once;
        best_widen_float16 = widen_float16_at_once;
    }
#endif
    return PyModule_Create(&module);
}
