"""The file format of everything that is saved: a zip of plain arrays and one JSON manifest.

`manifest.json` comes first: the caller's entries, and under `format`, `schema` and `arrays` what is
needed to check the rest (type, shape and SHA-256 of each array). Each array is a `.npy` member.
Members are stored, not compressed, so that a file cannot expand to more than its own size, and
equal content gives equal bytes. Nothing in a file is ever executed, unpickled or extracted to a
path.

A file is written under a temporary name, synced, then renamed: readers see either the complete old
file or the complete new one.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import struct
import tokenize
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

FORMAT = "scrubjay"
SCHEMAS = {"memory": 1, "agent": 2}
"""The version of each kind of file. Since version 2, the memories of an agent have names."""
MANIFEST = "manifest.json"
OWN_ENTRIES = ("format", "schema", "arrays")

MAX_MANIFEST_BYTES = 16 << 20
MAX_TOTAL_BYTES = 256 << 30
MAX_ARRAYS = 4096
MAX_HEADER_BYTES = 4096

NAME = re.compile(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*", re.ASCII)

Arrays = dict[str, npt.NDArray[Any]]


class ArchiveError(ValueError):
    """A file is damaged, not from scrubjay, too large or from a newer version."""


# ---------------------------------------------------------------- write


def write_archive(
    path: str | os.PathLike[str],
    manifest: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> None:
    """Write arrays and a manifest to one file.

    If anything fails, an existing file of that name is unchanged and no other file is left behind.

    Args:
        path: The file.
        manifest: Entries for JSON; "kind" is required and says what the file contains.
        arrays: Arrays of real numbers, by name.

    Raises:
        OSError: If the file cannot be written.
        TypeError: If an array does not contain real numbers.
        ValueError: If a name is invalid, or the manifest has no "kind" or a reserved entry.
    """
    target = Path(path)
    contents = {name: plain_array(name, array) for name, array in arrays.items()}
    text = manifest_text(manifest, contents)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            write_members(file, text, contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise OSError(
                error.errno,
                f"could not write {target} ({error.strerror or error}); an older file of that "
                "name is unchanged. Check that the folder exists, is writable and has space",
            ) from error
        raise


def plain_array(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in C order and little-endian, after checking its name and type."""
    if not NAME.fullmatch(name):
        raise ValueError(f"an array's name must be words joined by /, got {name!r}")
    contiguous = np.asarray(array, order="C")
    if contiguous.dtype.kind not in "fiub":
        raise TypeError(f"array {name!r} must hold real numbers, got dtype {contiguous.dtype}")
    return contiguous.astype(contiguous.dtype.newbyteorder("<"), copy=False)


def manifest_text(manifest: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the manifest with the description of all arrays, as JSON."""
    if not isinstance(manifest.get("kind"), str):
        raise ValueError(
            'expected a manifest with the entry "kind", which says what the file contains; add it'
        )
    taken = [entry for entry in OWN_ENTRIES if entry in manifest]
    if taken:
        raise ValueError(f"the manifest entries {taken} are reserved; use other names")
    described = {
        name: {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "sha256": hashlib.sha256(array.data).hexdigest(),
        }
        for name, array in arrays.items()
    }
    schema = SCHEMAS.get(manifest["kind"], 1)
    whole = {**manifest, "format": FORMAT, "schema": schema, "arrays": described}
    text = json.dumps(whole, sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False)
    return text.encode() + b"\n"


def write_members(file: IO[bytes], text: bytes, arrays: Arrays) -> None:
    """Write the manifest and all arrays as members of a zip."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(member(MANIFEST, len(text)), text)
        for name in sorted(arrays):
            array = arrays[name]
            with archive.open(member(f"{name}.npy", array.nbytes + MAX_HEADER_BYTES), "w") as out:
                np.lib.format.write_array_header_1_0(
                    out, np.lib.format.header_data_from_array_1_0(array)
                )
                out.write(array.data.cast("B") if array.size else b"")


def member(name: str, size: int) -> zipfile.ZipInfo:
    """Return a zip member with a fixed date, so that equal content gives equal bytes."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = 0o644 << 16
    info.file_size = size
    return info


def sync_folder(folder: Path) -> None:
    """Make a rename survive a power failure, on systems where folders can be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---------------------------------------------------------------- read


def read_archive(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], Arrays]:
    """Read and check a file.

    Args:
        path: The file.
        kind: The expected kind of content, as in the manifest.

    Returns:
        The manifest, without its entry "arrays", and the arrays by name.

    Raises:
        ArchiveError: If the file is damaged, not from scrubjay, of another kind or a newer version.
        OSError: If the file cannot be opened.
    """
    with open(path, "rb") as file, damage_reported(Path(path)):
        size = os.fstat(file.fileno()).st_size
        if size > MAX_TOTAL_BYTES:
            raise ArchiveError(
                f"the file has {size} bytes, more than the {MAX_TOTAL_BYTES} allowed"
            )
        with zipfile.ZipFile(file) as archive:
            members = checked_members(archive, size)
            manifest = read_manifest(archive, members, kind)
            described = manifest.pop("arrays")
            expected = {MANIFEST, *(f"{name}.npy" for name in described)}
            if members.keys() != expected:
                odd = sorted(members.keys() ^ expected)
                raise ArchiveError(f"members do not match the manifest: {odd[:5]}")
            arrays = {
                name: read_array(archive, members[f"{name}.npy"], name, described[name])
                for name in described
            }
    return manifest, arrays


@contextlib.contextmanager
def damage_reported(path: Path) -> Iterator[None]:
    """Convert all exceptions that a damaged file can cause into an ArchiveError with its name."""
    try:
        yield
    except ArchiveError as error:
        raise ArchiveError(f"cannot load {path}: {error}") from None
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        struct.error,
        EOFError,
        OSError,
        ValueError,
        TypeError,
        LookupError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
        MemoryError,
        tokenize.TokenError,
    ) as error:
        raise ArchiveError(
            f"cannot load {path}: it is not a file written by scrubjay, or it is damaged ({error})"
        ) from error


def checked_members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members of a zip by name, after checking their number and sizes."""
    infos = archive.infolist()
    members = {info.filename: info for info in infos}
    if len(infos) > MAX_ARRAYS + 1 or len(members) != len(infos):
        raise ArchiveError(f"it has too many members, or several of one name: {len(infos)}")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ArchiveError(f"member {info.filename!r} is compressed, which scrubjay never does")
    if sum(info.file_size for info in infos) > size:
        raise ArchiveError("its members declare more bytes than the whole file has")
    if MANIFEST not in members:
        raise ArchiveError(f"there is no {MANIFEST}: not a file written by scrubjay")
    return members


def read_manifest(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], kind: str
) -> dict[str, Any]:
    """Read and check the manifest."""
    if members[MANIFEST].file_size > MAX_MANIFEST_BYTES:
        raise ArchiveError(f"the manifest has {members[MANIFEST].file_size} bytes")
    manifest = json.loads(archive.read(MANIFEST).decode(), parse_constant=refuse_constant)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArchiveError("its manifest was not written by scrubjay")
    schema = manifest.get("schema")
    if type(schema) is not int or schema < 1:
        raise ArchiveError(f"unknown schema {schema!r}")
    newest = SCHEMAS.get(kind, 1)
    if schema > newest:
        raise ArchiveError(
            f"it has schema {schema}, this version reads up to {newest}: upgrade scrubjay"
        )
    if manifest.get("kind") != kind:
        raise ArchiveError(f"it holds {manifest.get('kind')!r}, expected {kind!r}")
    described = manifest.get("arrays")
    if not isinstance(described, dict) or not all(map(NAME.fullmatch, described)):
        raise ArchiveError("its manifest lists no arrays, or invalid names")
    return manifest


def refuse_constant(constant: str) -> None:
    """Raise ArchiveError for NaN and infinities, which scrubjay never writes."""
    raise ArchiveError(f"its manifest contains {constant}")


def read_array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, described: Mapping[str, Any]
) -> npt.NDArray[Any]:
    """Read one array, which is allocated only after its size was compared with the file."""
    with archive.open(info) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ArchiveError(f"array {name!r} has an unknown npy version")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, MAX_HEADER_BYTES)
        if dtype.kind not in "fiub" or fortran:
            raise ArchiveError(f"array {name!r} has dtype {dtype}, which scrubjay never writes")
        if [dtype.str, list(shape)] != [described["dtype"], described["shape"]]:
            raise ArchiveError(f"array {name!r} does not match its description")
        if min(shape, default=0) < 0:
            raise ArchiveError(f"array {name!r} has shape {shape}")
        n_bytes = math.prod(shape) * dtype.itemsize
        if n_bytes != info.file_size - file.tell():
            raise ArchiveError(f"array {name!r} does not have the size it declares")
        array = np.frombuffer(bytearray(file.read()), dtype).reshape(shape)
    if array.nbytes != n_bytes or hashlib.sha256(array.data).hexdigest() != described["sha256"]:
        raise ArchiveError(f"array {name!r} does not have its checksum: the file is damaged")
    return array.astype(dtype.newbyteorder("="), copy=False)


def digest_of(config: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return a hash of a configuration and of all arrays, in the order of their names."""
    whole = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for name in sorted(arrays):
        whole.update(name.encode())
        whole.update(np.ascontiguousarray(arrays[name]).data)
    return whole.hexdigest()
