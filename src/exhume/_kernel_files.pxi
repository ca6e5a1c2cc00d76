# Many small files at a time, without the GIL.  `exhume.batchio` holds the pure-Python twins and the documentation.

from libc.errno cimport EINTR, errno

cdef extern from "<fcntl.h>" nogil:
    int files_open "open"(const char*, int, ...)
    int files_openat "openat"(int, const char*, int, ...)
    enum:
        O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_CLOEXEC, O_NONBLOCK

cdef extern from "<unistd.h>" nogil:
    Py_ssize_t files_read "read"(int, void*, size_t)
    Py_ssize_t files_write "write"(int, const void*, size_t)
    int files_close "close"(int)
    int files_unlinkat "unlinkat"(int, const char*, int)

cdef struct FileJob:
    const char* name
    int folder
    int error
    Py_ssize_t start
    Py_ssize_t stop


cdef int write_one(FileJob* job, const unsigned char* data) noexcept nogil:
    """Creates one file; returns 0 or the error number, and then leaves no file."""
    cdef int fd, error
    cdef Py_ssize_t at = job.start, done
    while True:
        fd = files_openat(job.folder, job.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
        if fd >= 0:
            break
        if errno != EINTR:
            return errno
    while at < job.stop:
        done = files_write(fd, data + at, job.stop - at)
        if done < 0:
            if errno == EINTR:
                continue
            error = errno
            files_close(fd)
            files_unlinkat(job.folder, job.name, 0)
            return error
        at += done
    if files_close(fd) != 0 and errno != EINTR:
        error = errno
        files_unlinkat(job.folder, job.name, 0)
        return error
    return 0


def write_files(list jobs not None, const unsigned char[::1] data not None):
    cdef Py_ssize_t count = len(jobs), i, size = data.shape[0]
    cdef FileJob* table = <FileJob*>malloc((count or 1) * sizeof(FileJob))
    cdef const unsigned char* base = &data[0] if size else NULL
    cdef bytes name
    cdef list out
    if table == NULL:
        raise MemoryError
    try:
        for i in range(count):
            folder, name, start, stop = jobs[i]
            if not 0 <= start <= stop <= size or b"\0" in name:
                raise ValueError("a file outside the data, or NUL in its name")
            table[i].folder = folder
            table[i].name = name  # kept alive by `jobs`
            table[i].start = start
            table[i].stop = stop
        with nogil:
            for i in range(count):
                table[i].error = write_one(&table[i], base)
        out = [table[i].error for i in range(count)]
    finally:
        free(table)
    return out


cdef Py_ssize_t read_one(const char* path, Py_ssize_t size, char* into) noexcept nogil:
    """Reads a file that should have `size` bytes, one more if there is one; returns what came, -1 on failure."""
    cdef int fd
    cdef Py_ssize_t done
    while True:
        fd = files_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if fd >= 0:
            break
        if errno != EINTR:
            return -1
    while True:
        done = files_read(fd, into, size + 1)
        if done >= 0 or errno != EINTR:
            break
    files_close(fd)
    return done


def read_files(list paths not None, list sizes not None):
    cdef Py_ssize_t count = len(paths), i, total = 0, at = 0
    cdef FileJob* table
    cdef bytes name
    cdef object buffer
    cdef char* into
    if len(sizes) != count:
        raise ValueError("one size for each path")
    table = <FileJob*>malloc((count or 1) * sizeof(FileJob))
    if table == NULL:
        raise MemoryError
    try:
        for i in range(count):
            name = paths[i]
            if b"\0" in name:
                raise ValueError("NUL in a path")
            table[i].name = name  # kept alive by `paths`
            table[i].stop = sizes[i]
            if table[i].stop < 0:
                raise ValueError("negative size")
            total += table[i].stop
        buffer = PyBytes_New(NULL, total + 1)  # one more: a file that grew shows, the next one overwrites it
        into = PyBytes_AS_STRING(<PyObject*>buffer)
        with nogil:
            for i in range(count):
                table[i].start = read_one(table[i].name, table[i].stop, into + at)
                at += table[i].stop
            into[total] = 0
        return buffer, [table[i].start == table[i].stop for i in range(count)]
    finally:
        free(table)
