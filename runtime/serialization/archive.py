"""The zip container of torch.save, byte for byte as PyTorch writes it.

zipfile reads it, but cannot write it: PyTorch finds records by computing their position (they are aligned by padding,
their sizes follow the data, and empty records have none), and checksums can be left out.
"""

import io
import os
import struct
import zlib

M32 = 0xFFFFFFFF
LIMIT = M32  # from here on a number goes into the zip64 fields
HELP = (
    "This is an internal miniz error. If you are seeing this error, there is a high likelihood that your checkpoint "
    "file is corrupted. This can happen if the checkpoint was not saved properly, was transferred incorrectly, "
    "or the file was modified after saving."
)


class Writer:
    """Writes records to a stream, of which only write() is used."""

    def __init__(self, stream, name="archive", alignment=64, checksums=True):
        self.stream, self.name, self.alignment, self.checksums, self.at, self.records = (
            stream,
            name,
            alignment,
            checksums,
            0,
            [],
        )

    def _write(self, *parts):
        for part in parts:
            rest = memoryview(part)
            while rest.nbytes:
                n = self.stream.write(rest)
                rest = rest[n:] if isinstance(n, int) and 0 < n < rest.nbytes else rest[:0]
            self.at += memoryview(part).nbytes

    def record(self, name, data, skip=False):
        """Write a record of bytes; with `skip` its content is zeros."""
        data = memoryview(data).cast("B")
        n, at, name = data.nbytes, self.at, f"{self.name}/{name}".encode()
        crc = zlib.crc32(data) if self.checksums and not skip else 0
        big = [v for v in (n, n, at) if v >= LIMIT]
        wide = struct.pack(f"<HH{len(big)}Q", 1, 8 * len(big), *big) if big else b""
        padding = -(at + 30 + len(name) + len(wide) + 4) % self.alignment
        flags = 0x808 if n else 0x800  # UTF-8 names; checksum and sizes follow the data
        size = M32 if n >= LIMIT else 0
        self._write(
            struct.pack("<4s5H3I2H", b"PK\3\4", 0, flags, 0, 0, 0, 0, size, size, len(name), len(wide) + 4 + padding),
            name,
            wide,
            struct.pack("<2sH", b"FB", padding),
            b"Z" * padding,
        )
        if skip:
            for i in range(0, n, 1 << 20):
                self._write(bytes(min(n - i, 1 << 20)))
        else:
            self._write(data)
        if n:
            self._write(struct.pack("<4sI2Q" if wide else "<4s3I", b"PK\7\x08", crc, n, n))
        self.records.append((name, flags, crc, n, at, wide))

    def close(self, version=3):
        """Write the last two records and the directory."""
        self.record("version", b"%d\n" % version)
        names = zlib.crc32(b"".join(r[0] for r in self.records))
        self.record(
            ".data/serialization_id",
            f"{names:020d}{zlib.crc32(repr([r[2] for r in self.records]).encode()):020d}".encode(),
        )
        start, count = self.at, len(self.records)
        for name, flags, crc, n, at, wide in self.records:
            size, place = (M32 if v >= LIMIT else v for v in (n, at))
            self._write(
                struct.pack(
                    "<4s6H3I5H2I",
                    b"PK\1\2",
                    0,
                    0,
                    flags,
                    0,
                    0,
                    0,
                    crc,
                    size,
                    size,
                    len(name),
                    len(wide),
                    0,
                    0,
                    0,
                    0,
                    place,
                ),
                name,
                wide,
            )
        end = self.at
        self._write(
            struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 798, 45, 0, 0, count, count, end - start, start),
            struct.pack("<4sIQI", b"PK\6\7", 0, end, 1),
            struct.pack(
                "<4s4H2IH", b"PK\5\6", 0, 0, *[min(count, 0xFFFF)] * 2, min(end - start, M32), min(start, M32), 0
            ),
        )


class Reader:
    """Reads records by name, without the name of the archive. Every fault of the file is a RuntimeError."""

    def __init__(self, file):
        import zipfile  # imports its compressors, which `import torch` need not wait for

        self.file = file
        try:
            self.zip = zipfile.ZipFile(file)
            entries = self.zip.infolist()
        except Exception as e:  # whatever zipfile stumbles over, the archive is bad
            short = file.seek(0, os.SEEK_END) < 22  # the size of an archive without files
            why = "not a ZIP archive" if short else "failed finding central directory"
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {why}. {HELP}") from e
        if not entries:
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: archive does not contain any files. {HELP}"
            )
        name = entries[0].filename.partition("/")[0]
        self.records = {e.filename[len(name) + 1 :]: e for e in entries if e.filename.startswith(name + "/")}
        if not {"version", ".data/version"} & self.records.keys():
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false.  '
                "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
            )

    def __contains__(self, name):
        return name in self.records

    def _entry(self, name):
        try:
            return self.records[name]
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found. {HELP}") from None

    def offset(self, name):
        """Return the position in the file at which a record's bytes begin."""
        e = self._entry(name)
        self.file.seek(e.header_offset)
        head = self.file.read(30)
        if len(head) != 30 or head[:4] != b"PK\3\4":
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: invalid header or archive is corrupted. {HELP}"
            )
        return e.header_offset + 30 + sum(struct.unpack_from("<2H", head, 26))

    def size(self, name):
        return self._entry(name).file_size

    def stored(self, name):
        return self._entry(name).compress_type == 0  # ZIP_STORED

    def read(self, name):
        """Return a record as bytes."""
        if self.stored(name):
            self.file.seek(self.offset(name))
            data = self.file.read(self.size(name))
            if len(data) == self.size(name):
                return data
        else:
            try:
                return self.zip.read(self._entry(name))
            except Exception as e:
                raise RuntimeError(f"PytorchStreamReader failed reading file {name}: {e}. {HELP}") from e
        raise RuntimeError(f"PytorchStreamReader failed reading file {name}: file read failed. {HELP}")

    def read_into(self, name, array):
        """Read a record into a uint8 array of its size, directly from the file if it is not compressed."""
        if array.nbytes != self.size(name):
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: it has {self.size(name)} bytes, not {array.nbytes}"
            )
        if self.stored(name):
            self.file.seek(self.offset(name))
            read_exactly(self.file, array)
        else:
            memoryview(array)[:] = self.read(name)


def read_exactly(file, array):
    """Fill an array from a file's current position."""
    view, readinto = memoryview(array).cast("B"), getattr(file, "readinto", None)
    while view.nbytes:
        try:
            n = readinto(view) if readinto else None
        except io.UnsupportedOperation:
            n = None
        if n is None:
            data = file.read(view.nbytes)
            n = len(data)
            view[:n] = data
        if not n:
            raise RuntimeError(f"unexpected EOF, expected {view.nbytes} more bytes. The file might be corrupted.")
        view = view[n:]
