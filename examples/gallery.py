"""One picture of the seven tasks, as the README shows it.

    python examples/gallery.py docs/images/tasks.png

Needs `pip install "scrubjay[mujoco]"`.
"""

import argparse
from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import scrubjay.envs  # noqa: F401

TILE = (360, 240)
LABEL = 34
GAP = 12
COLUMNS = 4

# For each task an action, and the number of steps for which it is repeated before the picture.
MOMENTS: dict[str, tuple[list[float], int]] = {
    "GrowingTree": ([0.1], 6),
    "SparseMountainCar": ([-1.0], 35),
    "PointUMaze": ([0.35, 0.0], 16),
    "Point4Rooms": ([0.4, -0.02], 12),
    "SafexpPointGoal": ([0.04, -0.35], 40),
    "SafexpCarGoal": ([0.02, 0.002], 14),
    "SparseFetchReach": ([-0.2, 0.9, 0.1, 0.0], 4),
}

MAZES = ("PointUMaze", "Point4Rooms")  # square pictures, extended at the sides


def moment(name: str, action: list[float], steps: int) -> Image.Image:
    env = gym.make(f"scrubjay/{name}-v0", render_mode="rgb_array", **picture_size(name))
    env.reset(seed=0)
    for _ in range(steps):
        env.step(np.array(action, np.float32))
    picture = Image.fromarray(env.render())
    env.close()
    return fitted(picture)


def picture_size(name: str) -> dict[str, int]:
    """MuJoCo tasks are drawn at twice the size of a tile, then reduced, for smooth edges."""
    if name in ("GrowingTree", "SparseMountainCar"):
        return {}
    height = 2 * TILE[1]
    return {"width": height if name in MAZES else 2 * TILE[0], "height": height}


def fitted(picture: Image.Image) -> Image.Image:
    """Scale a picture to fit into a tile, and extend its edges to fill the tile."""
    picture.thumbnail(TILE, Image.Resampling.LANCZOS)
    across, down = TILE[0] - picture.width, TILE[1] - picture.height
    margins = ((down // 2, down - down // 2), (across // 2, across - across // 2), (0, 0))
    return Image.fromarray(np.pad(np.asarray(picture), margins, mode="edge"))


def gallery(pictures: dict[str, Image.Image]) -> Image.Image:
    """Arrange tiles in rows, with their names below; a shorter last row is centred."""
    rows = [list(pictures.items())[i : i + COLUMNS] for i in range(0, len(pictures), COLUMNS)]
    step_x, step_y = TILE[0] + GAP, TILE[1] + LABEL + GAP
    sheet = Image.new("RGB", (COLUMNS * step_x + GAP, len(rows) * step_y + GAP), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(20)
    for row, tiles in enumerate(rows):
        indent = GAP + (COLUMNS - len(tiles)) * step_x // 2
        for column, (name, picture) in enumerate(tiles):
            x, y = indent + column * step_x, GAP + row * step_y
            sheet.paste(picture, (x, y))
            middle = (x + TILE[0] / 2, y + TILE[1] + LABEL / 2)
            draw.text(middle, name, "#333333", font, anchor="mm")
    return sheet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, nargs="?", default=Path("docs/images/tasks.png"))
    path = parser.parse_args().path
    path.parent.mkdir(parents=True, exist_ok=True)
    gallery({name: moment(name, *how) for name, how in MOMENTS.items()}).save(path, optimize=True)
    print(path)


if __name__ == "__main__":
    main()
