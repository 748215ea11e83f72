"""Files that others made are regular files of a sane size before any of them is read: a pipe has no end that one
could wait for, a device none at all."""

import errno
import os
import stat

MOST_BYTES_OF_TEXT = 1 << 28


def check_regular(path, most=None):
    """Its size. Raises OSError where it is no regular file, or has more than `most` bytes."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file but a device, pipe or socket", path)
    if most is not None and found.st_size > most:
        raise OSError(errno.EFBIG, f"it is too large: more than {most >> 20} MiB", path)
    return found.st_size


def open_text(path):
    check_regular(path, MOST_BYTES_OF_TEXT)
    return open(path, encoding="utf-8")
