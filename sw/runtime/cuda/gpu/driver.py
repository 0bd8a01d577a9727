"""The CUDA driver API as the runtime needs it: started once, errors in one line, memory that frees
itself.

Everything works in a device's primary context, which PyTorch uses, too: addresses and streams of
either mean the same to the other.
"""

from __future__ import annotations

import ctypes
import weakref
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import GnarlError

ON_THE_CPU = "--backend emulation runs on the CPU"


class GpuError(GnarlError):
    """No GPU that can be used, or a call of the driver failed; names the function and status."""


@cache
def bindings() -> Any:
    """Module ``cuda.bindings.driver``. Raises ``GpuError`` where it is not installed."""
    try:
        from cuda.bindings import driver
    except ImportError:
        raise GpuError(
            "the CUDA driver is called through cuda-bindings: pip install 'gnarl[cuda]'"
        ) from None
    return driver


@cache
def start() -> None:
    """Raises ``GpuError`` where there is no driver, no GPU, or the driver does not start."""
    driver = bindings()
    try:
        (status,) = driver.cuInit(0)
    except RuntimeError:  # of cuda.pathfinder: libcuda is missing
        raise GpuError(f"this machine has no CUDA driver: {ON_THE_CPU}") from None
    if status == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        raise GpuError(f"the CUDA driver finds no GPU: {ON_THE_CPU}")
    if status != driver.CUresult.CUDA_SUCCESS:
        raise GpuError(f"the CUDA driver cannot be initialised: {status.name}: {ON_THE_CPU}")


def call(function: str, *arguments: Any) -> Any:
    """What a function of the driver API returns besides its status; ``None`` if that is all.

    Raises ``GpuError`` for any status but success.
    """
    start()
    status, *results = getattr(bindings(), function)(*arguments)
    if status != 0:
        raise GpuError(f"CUDA driver: {function} failed: {status.name}")
    return results[0] if results else None


def device_attribute(device: int, name: str) -> int:
    """An attribute of the device of that number; ``name`` is the driver's, after its prefix."""
    kind = getattr(bindings().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(call("cuDeviceGetAttribute", kind, call("cuDeviceGet", device)))


class Context:
    """A device's primary context: what is inside ``with`` runs on that device."""

    def __init__(self, device: int) -> None:
        self.device = device
        self._handle = call("cuDevicePrimaryCtxRetain", call("cuDeviceGet", device))

    def __enter__(self) -> Context:
        call("cuCtxPushCurrent", self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        call("cuCtxPopCurrent")


class DeviceMemory:
    """Bytes on a device, at least ``size``; all zeroes if asked for. Freed with the object."""

    def __init__(self, context: Context, size: int, *, zeroed: bool = False) -> None:
        self.size = max(size, 1)
        with context:
            self.address = int(call("cuMemAlloc", self.size))
            free_with(self, context, "cuMemFree", self.address)
            if zeroed:
                call("cuMemsetD8", self.address, 0, self.size)
                _await_null_stream()


def store(address: int, array: np.ndarray) -> None:
    """Copies an array, C-contiguous, to the current device; it has arrived when this returns."""
    call("cuMemcpyHtoD", address, array.ctypes.data, array.nbytes)
    _await_null_stream()


def load(address: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Copies an array from the current device, as it is now: no stream is waited for."""
    array = np.empty(shape, dtype)
    if array.nbytes:
        call("cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)
    return array


def _await_null_stream() -> None:
    """Copies from memory that is not pinned, and fills, return before the device is done, and
    streams of this module do not wait for the null stream, in which they are."""
    call("cuStreamSynchronize", 0)


class PinnedMemory:
    """Page-locked bytes on the host, for copies that overlap with work of the host.

    ``array``: uint8 [size].
    """

    def __init__(self, context: Context, size: int) -> None:
        with context:
            self.address = int(call("cuMemHostAlloc", size, 0))
            free_with(self, context, "cuMemFreeHost", self.address)
        octets = (ctypes.c_uint8 * size).from_address(self.address)
        self.array: np.ndarray = np.ctypeslib.as_array(octets)


class Stream:
    """Work that a device does in order, while the host and other streams go on."""

    def __init__(self, context: Context) -> None:
        with context:
            flags = bindings().CUstream_flags.CU_STREAM_NON_BLOCKING
            self.handle = int(call("cuStreamCreate", flags.value))
            free_with(self, context, "cuStreamDestroy", self.handle)

    def wait(self, event: Event) -> None:
        """What comes later in this stream waits for the event."""
        call("cuStreamWaitEvent", self.handle, event.handle, 0)

    def synchronise(self) -> None:
        """Waits on the host for all that was put into the stream."""
        call("cuStreamSynchronize", self.handle)


class Event:
    """A point in a stream, and when the device passed it."""

    def __init__(self, context: Context) -> None:
        with context:
            flags = bindings().CUevent_flags.CU_EVENT_DEFAULT
            self.handle = int(call("cuEventCreate", flags.value))
            free_with(self, context, "cuEventDestroy", self.handle)

    def record(self, stream: int) -> None:
        """Records the event behind all that is in the stream of this handle by now."""
        call("cuEventRecord", self.handle, stream)

    def synchronise(self) -> None:
        """Waits on the host until the device has passed the point."""
        call("cuEventSynchronize", self.handle)

    def ms_since(self, earlier: Event) -> float:
        """Milliseconds between two points that the device has passed."""
        return float(call("cuEventElapsedTime", earlier.handle, self.handle))


def free_with(owner: object, context: Context, function: str, handle: Any) -> None:
    """Has the driver free what ``handle`` names when ``owner`` is gone."""
    finalizer = weakref.finalize(owner, _release, context, function, handle)
    finalizer.atexit = False  # the end of a process frees all, and may unload the driver first


def _release(context: Context, function: str, handle: Any) -> None:
    # In a context that a kernel has broken every call fails, so that results fail as well.
    with suppress(GpuError), context:
        call(function, handle)
