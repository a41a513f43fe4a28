"""Files that are damaged at random, and files that are whole but say something absurd."""

import json
import os

import numpy as np

# `make test-hard` sets it: the full numbers in place of a sample
HARD = bool(os.environ.get("SCRUBJAY_HARD"))
N_MUTATIONS = 1000 if HARD else 25
N_SLOW = 1000 if HARD else 5  # of what takes most of a second

ODD = (
    *(None, True, False, 0, -1, 1, 2**31, -(2**63), 10**400, 0.5, -0.0, 1e308),
    *("", "nan", "../../etc/passwd", "os:system", "scrubjay.cli.main:main", "x" * 5000, "\x00"),
    *([], [[]], [0] * 50, {}, {"name": "chain"}, {"name": []}, {"": {"": {}}}),
)  # fmt: skip
CELLS = ("", "nan", "inf", "-1", "1e400", "9" * 400, "abc", '"', "True", "0.1", " 7", "٣", "\x00")


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes with one to four random accidents."""
    for _ in range(rng.integers(1, 5)):
        data = _accident(data, rng)
    return data


def _accident(data: bytes, rng: np.random.Generator) -> bytes:
    if not data:
        return bytes(rng.integers(256, size=5, dtype=np.uint8))
    start = int(rng.integers(len(data)))
    end = min(len(data), start + int(rng.choice([1, 4, 40, 4000])))
    noise = bytes(rng.integers(256, size=end - start, dtype=np.uint8))
    match rng.integers(6):
        case 0:
            return (
                data[:start]
                + bytes([data[start] ^ (1 << int(rng.integers(8)))])
                + data[start + 1 :]
            )
        case 1:
            return data[:start] + noise + data[end:]
        case 2:
            return data[:start] + data[end:]
        case 3:
            return data[:end] + data[start:]
        case 4:
            return data[:start]
        case _:
            return data[:start] + bytes(end - start) + data[end:]


def absurd(content, rng: np.random.Generator):
    """A JSON value in which one node is another one than it should be."""
    content = json.loads(json.dumps(content))
    places = list(_places(content))
    for index in rng.choice(len(places), size=min(len(places), int(rng.integers(1, 3)))):
        parent, key = places[int(index)]
        match rng.integers(4):
            case 0 if isinstance(parent, dict):
                parent.pop(key, None)
            case 1 if isinstance(parent, dict):
                parent[f"{key}x"] = parent.get(key)
            case _:
                if isinstance(parent, dict) or key < len(parent):
                    parent[key] = ODD[int(rng.integers(len(ODD)))]
    return content


def _places(content):
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in list(items):
        yield content, key
        if isinstance(value, dict | list):
            yield from _places(value)


def odd_table(text: str, rng: np.random.Generator) -> str:
    """A CSV file in which cells, lines or the header are wrong."""
    lines = text.split("\n")
    for _ in range(rng.integers(1, 4)):
        row = int(rng.integers(len(lines)))
        cells = lines[row].split(",")
        match rng.integers(6):
            case 0:
                lines.insert(row, lines[int(rng.integers(len(lines)))])
            case 1:
                del lines[row]
                lines = lines or [""]
            case 2:
                lines[row] = ",".join(cells[:-1])
            case 3:
                lines[row] += ",1"
            case _:
                cells[int(rng.integers(len(cells)))] = CELLS[int(rng.integers(len(CELLS)))]
                lines[row] = ",".join(cells)
    return "\n".join(lines)


def odd_arrays(arrays, rng: np.random.Generator):
    """Arrays of which one has a wrong entry, a wrong shape or a wrong type."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    names = sorted(arrays)
    name = names[int(rng.integers(len(names)))]
    array = arrays[name]
    match rng.integers(5):
        case 0 if array.size:
            values = [0, 1, -1, 2**31 - 1] + (
                [np.nan, np.inf, 1e30] if array.dtype.kind == "f" else []
            )
            with np.errstate(all="ignore"):
                value = np.array(values[int(rng.integers(len(values)))]).astype(array.dtype)
            array.flat[int(rng.integers(array.size))] = value
        case 1:
            arrays[name] = array[: len(array) // 2] if array.ndim else array.reshape(1)
        case 2:
            arrays[name] = array.astype(np.float32 if array.dtype.kind != "f" else np.int64)
        case 3:
            del arrays[name]
        case _:
            arrays[f"{name}_more"] = array
    return arrays
