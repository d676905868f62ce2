"""What of perf's counting this user may do here, found out by opening counters."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "s390x": 331, "ppc64le": 319}
HARDWARE, SOFTWARE = 0, 1  # perf_event_attr.type
CYCLES, TASK_CLOCK = 0, 1  # its config
SIZE = 128  # of perf_event_attr, as Linux 5.15 has it; older kernels take it with zeros at its end
DISABLED, NOT_KERNEL = 1 << 0, 1 << 5 | 1 << 6  # exclude_kernel, exclude_hv
CLOSE_ON_EXEC = 8
NO_COUNTERS = (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP)


def refused(kind: int, event: int, flags: int) -> int:
    """The number of the error by which this thread may not count the event; 0: it may."""
    call = OPEN.get(os.uname().machine)
    if call is None:
        return errno.ENOSYS
    attributes = bytearray(SIZE)
    struct.pack_into("=IIQ", attributes, 0, kind, SIZE, event)
    struct.pack_into("=Q", attributes, 40, DISABLED | flags)
    library = ctypes.CDLL(None, use_errno=True)
    found = library.syscall(
        ctypes.c_long(call),
        (ctypes.c_char * SIZE).from_buffer(attributes),
        ctypes.c_long(0),
        ctypes.c_long(-1),
        ctypes.c_long(-1),
        ctypes.c_ulong(CLOSE_ON_EXEC),
    )
    if found < 0:
        return ctypes.get_errno()
    os.close(found)
    return 0


def allowed() -> tuple[bool, str]:
    """Whether programs can be counted, and a text that says what can."""
    if why := refused(SOFTWARE, TASK_CLOCK, NOT_KERNEL):
        return False, f"not allowed ({os.strerror(why)})"
    kernel = not refused(SOFTWARE, TASK_CLOCK, 0)
    found = "programs and the kernel" if kernel else "programs, not the kernel"
    if refused(HARDWARE, CYCLES, NOT_KERNEL) in NO_COUNTERS:
        found += "; no hardware counters"
    return True, found


def numbers(text: str) -> set[int]:
    """Those of a list as the kernel writes it: 0-3,8."""
    ends = [part.partition("-") for part in text.split(",") if part]
    return {each for low, _, high in ends for each in range(int(low), int(high or low) + 1)}
