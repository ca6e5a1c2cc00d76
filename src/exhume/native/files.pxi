# Reads, writes and lists many small files in one call, without the GIL.  `exhume.io.folders` has the pure-Python
# implementation and the documentation.

from libc.errno cimport EINTR, errno
from os import strerror as os_strerror

cdef extern from "<fcntl.h>" nogil:
    int files_open "open"(const char*, int, ...)
    int files_openat "openat"(int, const char*, int, ...)
    enum:
        O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_CLOEXEC, O_NONBLOCK, O_DIRECTORY

cdef extern from *:
    """
    static void files_clear_errno(void) { errno = 0; }
    """
    void files_clear_errno() nogil

cdef extern from "<sys/stat.h>" nogil:
    cdef struct files_stat_t "stat":
        unsigned int st_mode
        long long st_size
        unsigned long long st_ino
    int files_fstatat "fstatat"(int, const char*, files_stat_t*, int)
    bint files_is_regular "S_ISREG"(unsigned int)

cdef extern from "<fcntl.h>" nogil:
    enum:
        AT_SYMLINK_NOFOLLOW

cdef extern from "<dirent.h>" nogil:
    ctypedef struct files_dir_t "DIR":
        pass
    cdef struct files_entry_t "dirent":
        char d_name[256]
        unsigned char d_type
    files_dir_t* files_opendir "opendir"(const char*)
    files_entry_t* files_readdir "readdir"(files_dir_t*)
    int files_closedir "closedir"(files_dir_t*)
    int files_dirfd "dirfd"(files_dir_t*)
    enum:
        DT_REG, DT_DIR

cdef extern from "Python.h":
    object PyUnicode_DecodeFSDefault(const char*)

cdef extern from "<string.h>" nogil:
    const char* strrchr(const char*, int)

cdef extern from "<unistd.h>" nogil:
    Py_ssize_t files_read "read"(int, void*, size_t)
    Py_ssize_t files_write "write"(int, const void*, size_t)
    int files_close "close"(int)
    int files_unlinkat "unlinkat"(int, const char*, int)

cdef struct FileJob:  # a file to write, or to read; (to write), (to read): which of them the field is for
    const char* name
    int folder  # descriptor of its directory (to write)
    int error  # result: error number, or 0 (to write)
    Py_ssize_t start  # offset of its content in the data (to write); result: bytes read, or -1 (to read)
    Py_ssize_t stop  # end of its content in the data (to write); expected size (to read)


cdef int write_one(FileJob* job, const unsigned char* data) noexcept nogil:
    """Create a file.  Return 0, or the error number; after an error there is no file."""
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
    """Create files; return an error number for each, or 0.  See `exhume.io.folders.py_write_files`.

    `jobs` are (descriptor of the directory, name, start, stop) of files that contain `data[start:stop]`.
    """
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


cdef struct Folder:  # the directory that was opened last, kept open for the next file in it
    const char* path  # path of the file for which it was opened
    Py_ssize_t size  # size of the directory in that path, slash included
    int fd  # -1: not open


cdef const char* enter_folder(Folder* folder, const char* path) noexcept nogil:
    """Open the directory of a path, unless it is open already.  Return the path of the file relative to it.

    If the directory cannot be opened, or the path names none, `folder.fd` is -1 and the whole path is returned.
    """
    cdef const char* slash = strrchr(path, 47)  # the byte "/"
    cdef Py_ssize_t size = 0 if slash == NULL else slash - path + 1
    cdef char start[4096]
    if size and size == folder.size and memcmp(path, folder.path, size) == 0:
        return path + size if folder.fd >= 0 else path
    if folder.fd >= 0:
        files_close(folder.fd)
    folder.path, folder.size, folder.fd = path, size, -1
    if size == 0 or size >= 4096:  # no directory, or one that `start` has no space for
        return path
    memcpy(start, path, size)
    start[size] = 0
    folder.fd = files_open(start, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
    return path + size if folder.fd >= 0 else path


cdef Py_ssize_t read_one(Folder* folder, const char* path, Py_ssize_t size, char* into) noexcept nogil:
    """Read up to `size + 1` bytes of a file, to notice one that is longer.  Return their number, -1 on failure.

    `folder` is the directory that was opened last.
    """
    cdef int fd
    cdef Py_ssize_t done
    cdef const char* leaf = enter_folder(folder, path)
    while True:
        if folder.fd >= 0:
            fd = files_openat(folder.fd, leaf, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        else:
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
    """Read files of known sizes; return (buffer, whether each was read and has that size).

    See `exhume.io.folders.py_read_files`.
    """
    cdef Py_ssize_t count = len(paths), i, total = 0, at = 0
    cdef FileJob* table
    cdef bytes name
    cdef object buffer
    cdef char* into
    cdef Folder folder
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
        buffer = PyBytes_New(NULL, total + 1)  # the extra byte of a file is overwritten by the next one
        into = PyBytes_AS_STRING(<PyObject*>buffer)
        with nogil:
            folder.path, folder.size, folder.fd = NULL, 0, -1
            for i in range(count):
                table[i].start = read_one(&folder, table[i].name, table[i].stop, into + at)
                at += table[i].stop
            if folder.fd >= 0:
                files_close(folder.fd)
            into[total] = 0
        return buffer, [table[i].start == table[i].stop for i in range(count)]
    finally:
        free(table)


def list_folder(bytes path not None):
    """Return (names of files, their sizes, their inode numbers, names of directories, other names) in a directory.

    See `exhume.io.folders.py_list_folder`.
    """
    cdef files_dir_t* folder
    cdef files_entry_t* entry
    cdef files_stat_t found
    cdef const char* spelled = path
    cdef int failure = 0, fd
    cdef bint regular
    cdef list files = [], sizes = [], inodes = [], folders = [], others = []
    if b"\0" in path:
        raise ValueError("NUL in a path")
    with nogil:
        folder = files_opendir(spelled)
        if folder == NULL:
            failure = errno
    if folder == NULL:
        raise OSError(failure, os_strerror(failure), path)
    try:
        fd = files_dirfd(folder)
        while True:
            with nogil:
                regular = False
                files_clear_errno()  # NULL is the end, or an error if it is set then
                entry = files_readdir(folder)
                if entry == NULL:
                    failure = errno
                elif entry.d_type == DT_REG and files_fstatat(fd, entry.d_name, &found, AT_SYMLINK_NOFOLLOW) == 0:
                    regular = files_is_regular(found.st_mode)
            if entry == NULL:
                break
            if entry.d_name[0] == 46 and (  # "." and "..": the directory itself, and the one above
                entry.d_name[1] == 0 or (entry.d_name[1] == 46 and entry.d_name[2] == 0)
            ):
                continue
            name = PyUnicode_DecodeFSDefault(entry.d_name)
            if regular:
                files.append(name)
                sizes.append(found.st_size)
                inodes.append(found.st_ino)
            elif entry.d_type == DT_DIR:
                folders.append(name)
            else:
                others.append(name)
        if failure:
            raise OSError(failure, os_strerror(failure), path)
    finally:
        files_closedir(folder)
    return files, sizes, inodes, folders, others
