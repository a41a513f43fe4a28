"""One training: the loop, evaluation, callbacks, logging, checkpoints, the run folder."""

from scrubjay.training.callbacks import BaseCallback, Callback
from scrubjay.training.collecting import CollectorError, Collectors
from scrubjay.training.environments import Environment
from scrubjay.training.evaluation import Evaluator
from scrubjay.training.logger import Logger
from scrubjay.training.loop import train
from scrubjay.training.protocols import Agent, Policy, Recorder
from scrubjay.training.records import EpisodeRecord
from scrubjay.training.run_folder import RunFolder, RunFolderError
from scrubjay.training.session import Plan, Session
from scrubjay.training.watchdog import Watchdog

__all__ = [
    "Agent",
    "BaseCallback",
    "Callback",
    "CollectorError",
    "Collectors",
    "Environment",
    "EpisodeRecord",
    "Evaluator",
    "Logger",
    "Plan",
    "Policy",
    "Recorder",
    "RunFolder",
    "RunFolderError",
    "Session",
    "Watchdog",
    "train",
]
