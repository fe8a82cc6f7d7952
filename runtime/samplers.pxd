# C types for samplers.py, by which Cython compiles it; Python does not read this file.
cimport cython
from libc cimport math

cdef double INFINITY
cdef double SQUEEZE


cdef class Stream:
    cdef object draw
    cdef double[::1] block
    cdef Py_ssize_t size, at, before
    cdef readonly bint has_waiting
    cdef readonly double waiting

    cdef int refill(self) except -1
    cpdef Py_ssize_t used(self)
    cdef double uniform(self) except? -1

    @cython.locals(theta=double, r=double)
    cdef double normal(self) except? -1


cdef double _log(double x) noexcept

@cython.locals(k=double, product=double, floor=double)
cdef double _small_poisson(Stream stream, double rate) except? -1

@cython.locals(root=double, log_rate=double, b=double, a=double, log_inv_alpha=double, accept=double, x=double, v=double, us=double, k=double)
cdef double _large_poisson(Stream stream, double rate) except? -1

@cython.locals(i=Py_ssize_t, rate=double, out="double[::1]")
cpdef object poisson(Stream stream, double[::1] rates)

@cython.locals(scale=double, x=double, y=double, v=double, w=double, xx=double)
cdef double _one_gamma(Stream stream, double power, double d, double c) except? -1

@cython.locals(i=Py_ssize_t, out="double[::1]")
cpdef object gamma(Stream stream, double[::1] alphas, double[::1] powers, double[::1] ds, double[::1] cs)

@cython.locals(k1=double)
cdef double _stirling(double k) except? -1

@cython.locals(total=double, k=double, x=double)
cdef double _small_binomial(Stream stream, double n, double log_q) except? -1

@cython.locals(b=double, a=double, alpha=double, accept=double, x=double, v=double, us=double, k=double, bound=double)
cdef double _large_binomial(Stream stream, double n, double q, double sd, double r, double mean, double m) except? -1

@cython.locals(i=Py_ssize_t, n=double, p=double, k=double, out="double[::1]")
cpdef object binomial(
    Stream stream, double[::1] counts, double[::1] probs, double[::1] qs, double[::1] log_qs, double[::1] sds,
    double[::1] rs, double[::1] means, double[::1] modes
)
