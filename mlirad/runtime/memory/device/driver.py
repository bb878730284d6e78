"""The interface of a device: its memory, and copies to and from it.

Everything runs in one order, that of launches, copies and frees as they were asked for (one
stream): memory may be read, written and freed while a launch that uses it still runs. Sizes are in
bytes. Addresses of the device mean nothing to Python: only `read` and `write` reach what is there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod


class Addresses(ABC):
    """Addresses of a device where nothing is, and memory that is put there piece by piece."""

    granule: int  # the bytes of a piece at least

    @abstractmethod
    def reserve(self, size: int) -> int:
        """The first of `size` addresses, a multiple of `granule`."""

    @abstractmethod
    def commit(self, address: int, size: int) -> None:
        """Have memory at reserved addresses, from a multiple of `granule` on, until they are
        released; it is not cleared. Raises TaichiMemoryError as `Driver.allocate` does."""

    @abstractmethod
    def release(self, address: int) -> None:
        """Give back what `reserve` gave, with all memory there, as `Driver.free` does."""


class Driver(ABC):
    """A device. Any thread may call; what fails raises TaichiRuntimeError, which says what was
    asked for, and whether the process can go on."""

    addresses: Addresses | None = None  # without memory, on a device that has any

    # Memory.

    @abstractmethod
    def allocate(self, size: int) -> int:
        """The address, a multiple of 256, of `size` bytes (at least one), which are not cleared.

        Raises TaichiMemoryError, with the bytes that were asked for and those that are free, where
        there is no room.
        """

    @abstractmethod
    def free(self, address: int) -> None:
        """Give back what `allocate` gave, when launches and copies before have ended. Where the
        device is gone, nothing is done, and nothing raised."""

    def reserve(self, size: int) -> int:
        """The address of `size` bytes that hold 0; a device with an `address_space` commits them as
        they are written. Raises TaichiMemoryError as `allocate` does, which gives them here."""
        address = self.allocate(size)
        self.fill(address, 0, size)
        return address

    def discard(self, address: int, size: int) -> None:
        """Set bytes that `reserve` gave to 0 in the order of launches, and give back what was
        committed."""
        self.fill(address, 0, size)

    @property
    def address_space(self) -> int | None:
        """The bytes that can be reserved; None if what is reserved is allocated."""
        return None

    @abstractmethod
    def page_locked(self, size: int) -> int:
        """The address of `size` bytes of the host that launches reach too, at the same address; not
        cleared. Python looks into it behind `synchronize`.

        Raises TaichiMemoryError, with the bytes that were asked for, where there is no room.
        """

    @abstractmethod
    def free_page_locked(self, address: int) -> None:
        """Give back what `page_locked` gave, which no launch uses any more. Never raises."""

    @abstractmethod
    def total_memory(self) -> int:
        """The bytes that the device has."""

    @abstractmethod
    def free_memory(self) -> int:
        """The bytes that nobody uses now."""

    @abstractmethod
    def holds(self, address: int) -> bool:
        """Return whether launches can be passed this address, of whoever's memory: it is on this
        device."""

    # Copies, in the order of launches.

    @abstractmethod
    def write(self, address: int, host_address: int, size: int) -> None:
        """Copy bytes of the host to the device. The host's may change when this returns."""

    @abstractmethod
    def read(self, host_address: int, address: int, size: int) -> None:
        """Copy bytes of the device to the host, as all launches before leave them: waits for
        them."""

    @abstractmethod
    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes on the device, to others that they do not overlap. Does not wait."""

    @abstractmethod
    def fill(self, address: int, byte: int, size: int) -> None:
        """Set bytes of the device to one of 0 to 255. Does not wait."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until everything that was asked for is done. Raises TaichiRuntimeError for what
        failed on the way."""

    # Other libraries on the same device.

    @property
    @abstractmethod
    def dlpack_device(self) -> tuple[int, int]:
        """Its type and number, as DLPack counts devices: (2, 0) is the first CUDA device."""

    @property
    @abstractmethod
    def stream(self) -> int | None:
        """The one stream, as `__dlpack__(stream=)` takes it: other libraries' work on an array is
        ordered before ours by it. None if there are no streams."""
