"""An agent in your own control loop: a robot has sensors and motors, but no `env.step`.

    python examples/own_loop.py [FOLDER]

The robot is a carriage on a rail, simulated in a few lines; replace it with your own. It starts in
the middle, the agent pushes it left and right, and reaching the dock at the right end gives a
reward of 1.

The agent is created with the spaces of observations and actions (`Spaces`), and each episode is
reported to it:

    episode = agent.begin_episode()
    action = episode.act(observation)                 # in every step
    episode.record(reward, action=executed)
    episode.finish(last_observation, terminated=...)  # learns from the whole episode

`act` and `record` alternate. `record` takes the action that was actually executed: here a safety
layer brakes before the left end of the rail, whatever the agent has chosen, and the agent remembers
the braking. An episode that ends early, by a time limit or an emergency stop, is finished with
`terminated=False`; an episode that should not be learned from is discarded with `agent.rewind()`.

`save` writes the state at the end of the last finished episode. A loaded agent continues from there
with the same random numbers, as if it had never stopped.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from scrubjay import CECPlus, MemoryAgent, Spaces

SENSORS = Box(low=np.array([-1.0, -2.0]), high=np.array([1.0, 2.0]), dtype=np.float64)
MOTOR = Box(low=-1.0, high=1.0, shape=(1,), dtype=np.float32)
LONGEST = 100  # steps of an episode


class Robot:
    """A carriage on a rail from -1 to 1, with a dock from 0.9 on."""

    def __init__(self) -> None:
        self.position = 0.0
        self.speed = 0.0

    def sense(self) -> npt.NDArray[np.float64]:
        """Position and speed."""
        return np.array([self.position, self.speed])

    def push(self, acceleration: float) -> None:
        """Accelerate for a tenth of a second."""
        self.speed = float(np.clip(0.9 * self.speed + 0.1 * acceleration, -2.0, 2.0))
        self.position = float(np.clip(self.position + 0.1 * self.speed, -1.0, 1.0))

    @property
    def docked(self) -> bool:
        return self.position >= 0.9


def made_safe(
    action: npt.NDArray[np.float32], observation: npt.NDArray[np.float64]
) -> npt.NDArray[np.float32]:
    """The safety layer: near the left end, full power to the right."""
    position, speed = observation
    return np.ones_like(action) if position + speed < -0.6 else action


def run_episode(agent: MemoryAgent) -> bool:
    """Run one training episode; return whether the robot reached the dock."""
    robot = Robot()
    episode = agent.begin_episode()
    for _ in range(LONGEST):
        observation = robot.sense()
        wanted = episode.act(observation)
        executed = made_safe(wanted, observation)
        robot.push(float(executed[0]))
        episode.record(reward=float(robot.docked), action=executed)
        if robot.docked:
            break
    episode.finish(robot.sense(), terminated=robot.docked)
    return robot.docked


def steps_to_dock(agent: MemoryAgent) -> int:
    """Return the number of steps of a greedy episode, which is not recorded."""
    robot = Robot()
    for step in range(LONGEST):
        if robot.docked:
            return step
        observation = robot.sense()
        action, _ = agent.predict(observation, deterministic=True)
        robot.push(float(made_safe(action, observation)[0]))
    return LONGEST


def main() -> None:
    """Train, save, load, and continue training."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(tempfile.gettempdir()))
    file = parser.parse_args().folder / "carriage.scrub"

    agent = CECPlus(Spaces(SENSORS, MOTOR), seed=1)
    agent.warm_up()  # compiles now, not while the robot waits for its first action
    docked = sum(run_episode(agent) for _ in range(40))
    print(
        f"{docked} of the first 40 episodes reached the dock; greedy: {steps_to_dock(agent)} steps"
    )

    agent.save(file)
    agent = CECPlus.load(file)
    docked = sum(run_episode(agent) for _ in range(40))
    print(
        f"{docked} of the next 40 episodes reached the dock; greedy: {steps_to_dock(agent)} steps"
    )
    print(f"{len(agent.memory):,} rows after {agent.num_timesteps:,} steps in {file}")


if __name__ == "__main__":
    main()
