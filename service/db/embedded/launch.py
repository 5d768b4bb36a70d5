"""Run as a program: become the server's account, tie its life to the parent's, limit its memory, then turn into the given program.

In: argv `parent_pid uid gid reads_all program argument…`; uid -1 keeps the account, reads_all 1 keeps the right to read
everything. Out: the program in place of this one, or exit 71 with one line on stderr.

A program of its own because the parent has threads: Python code between fork and exec can deadlock there.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION_3 = 0x20080522
_EX_OSERR = 71
# Of one server process, beside what all share: a query that wants more is told so. Building an index takes up to a gigabyte.
_MOST_BYTES = 1536 * 1024 * 1024


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _become(libc: ctypes.CDLL, uid: int, gid: int, *, reads_all: bool) -> None:
    if reads_all:
        _checked(libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if reads_all:
        kept = 1 << _CAP_DAC_READ_SEARCH
        sets = (_Sets * 2)(_Sets(kept, kept, kept), _Sets(0, 0, 0))
        _checked(libc.capset(ctypes.byref(_Header(_CAPABILITY_VERSION_3, 0)), sets))
        _checked(libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_READ_SEARCH, 0, 0))


def main() -> None:
    parent, uid, gid, reads_all = (int(value) for value in sys.argv[1:5])
    program = sys.argv[5:]
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if uid >= 0:
            _become(libc, uid, gid, reads_all=bool(reads_all))
        # After the change of account, which clears it. SIGINT is Postgres's fast and clean shutdown.
        if sys.platform == "linux":
            _checked(libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0))
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            most = _MOST_BYTES if hard == resource.RLIM_INFINITY else min(_MOST_BYTES, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        if os.getppid() != parent:
            sys.exit(_EX_OSERR)
        os.umask(0o077)
        os.execv(program[0], program)  # noqa: S606 – no shell is wanted
    except OSError as error:
        account = f" as user id {uid}" if uid >= 0 else ""
        print(f"cannot run {program[0]}{account}: {error.strerror}", file=sys.stderr)
        sys.exit(_EX_OSERR)


if __name__ == "__main__":
    main()
