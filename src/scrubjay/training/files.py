"""Small files that are replaced as a whole."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replace a file so that a reader sees the old or the new one, never half.

    Args:
        path: The file to replace or create.

    Yields:
        A unique temporary path in the same folder, to be written inside the `with` block. It is
        synced and renamed at the end, or removed if the block fails.
    """
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.tmp{path.suffix}")
    try:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # the system's own message for a full disk does not say which file it was
        raise OSError(
            error.errno, f"could not write {path} ({error.strerror or error}); check its disk"
        ) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old or the new one, never half."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def remove_temporary_files(folder: Path) -> None:
    """Remove what a killed process had begun to write; only for the folder's owner."""
    for path in folder.glob(".*.tmp*"):
        path.unlink(missing_ok=True)
