"""The tasks, registered with Gymnasium as `scrubjay/<Name>-v0`.

Entry points are strings, so that importing this package imports neither MuJoCo nor a task.
Gymnasium's passive checker is left out: it checks types on every step, which costs more than the
step of a toy task, and the tests run the stricter `check_env` on each of them. A task checks the
actions it gets by itself.
"""

from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register

if TYPE_CHECKING:
    from scrubjay.envs.point_maze import PointMaze

# name: (entry point, steps after which an episode is truncated)
_TASKS = {
    "GrowingTree": ("growing_tree:GrowingTree", 200),
    "SparseMountainCar": ("mountain_car:SparseMountainCar", 999),
    "PointUMaze": ("point_maze:PointUMaze", 1000),
    "Point4Rooms": ("point_maze:Point4Rooms", 1000),
    "Point4RoomsOneGoal": ("point_maze:Point4RoomsOneGoal", 1000),
    "SafexpPointGoal": ("safexp:SafexpPointGoal", 1000),
    "SafexpCarGoal": ("safexp:SafexpCarGoal", 1000),
    "SparseFetchReach": ("fetch:SparseFetchReach", 50),
    "NoisyPointUMaze": ("noisy:noisy_point_umaze", 1000),
    "NoisySparseMountainCar": ("noisy:noisy_mountain_car", 999),
    "SensorMountainCar": ("variants:sensor_mountain_car", 999),
    "StickyPointUMaze": ("variants:sticky_point_umaze", 1000),
    "RandomStartPointUMaze": ("mazes:RandomStartPointUMaze", 1000),
    "PointCorridor": ("mazes:PointCorridor", 1000),
    "PointTMaze": ("mazes:PointTMaze", 1000),
    "SparseReacher": ("variants:SparseReacher", 50),
    "SparseFetchPush": ("variants:sparse_fetch_push", 50),
    "FourRoomsGrid": ("four_rooms_grid:FourRoomsGrid", 200),
}

# name: (entry point, the game's name in its package, steps)
_GAMES = {
    "MsPacman": ("atari:Atari", "ms_pacman", 27_000),  # 30 minutes
    "Qbert": ("atari:Atari", "qbert", 27_000),
    "Frostbite": ("atari:Atari", "frostbite", 27_000),
    "Hero": ("atari:Atari", "hero", 27_000),
    "Riverraid": ("atari:Atari", "riverraid", 27_000),
    "SpaceInvaders": ("atari:Atari", "space_invaders", 27_000),
    "MinAtarAsterix": ("minatar:MinAtar", "asterix", 5_000),
    "MinAtarBreakout": ("minatar:MinAtar", "breakout", 5_000),
    "MinAtarFreeway": ("minatar:MinAtar", "freeway", 5_000),
    "MinAtarSeaquest": ("minatar:MinAtar", "seaquest", 5_000),
    "MinAtarSpaceInvaders": ("minatar:MinAtar", "space_invaders", 5_000),
}

TASK_IDS = tuple(f"scrubjay/{name}-v0" for name in (*_TASKS, *_GAMES))

for _name, (_entry_point, _max_episode_steps) in _TASKS.items():
    register(
        id=f"scrubjay/{_name}-v0",
        entry_point=f"scrubjay.envs.{_entry_point}",
        max_episode_steps=_max_episode_steps,
        disable_env_checker=True,
    )

for _name, (_entry_point, _game, _max_episode_steps) in _GAMES.items():
    register(
        id=f"scrubjay/{_name}-v0",
        entry_point=f"scrubjay.envs.{_entry_point}",
        max_episode_steps=_max_episode_steps,
        disable_env_checker=True,
        kwargs={"game": _game},
    )


def __getattr__(name: str) -> Any:
    """Import `PointMaze`, for custom mazes, when it is first used: it needs MuJoCo."""
    if name == "PointMaze":
        from scrubjay.envs.point_maze import PointMaze

        return PointMaze
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["TASK_IDS", "PointMaze"]
