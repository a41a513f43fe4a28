"""Embeddings: from an observation to the key under which the memory stores it."""

from scrubjay.embedding.base import Embedding, load_embedding
from scrubjay.embedding.chain import Chain
from scrubjay.embedding.encoder import LearnedEncoder
from scrubjay.embedding.goal import GoalDifference
from scrubjay.embedding.images import Downsample, Grey, LowFrequencies, Resize
from scrubjay.embedding.normalize import FrozenNormalizer, RunningNormalizer
from scrubjay.embedding.periodic import Periodic
from scrubjay.embedding.project import RandomProjection
from scrubjay.embedding.scale import BoundsScaler
from scrubjay.embedding.select import Identity, SelectKeys

__all__ = [
    "BoundsScaler",
    "Chain",
    "Downsample",
    "Embedding",
    "FrozenNormalizer",
    "GoalDifference",
    "Grey",
    "Identity",
    "LearnedEncoder",
    "LowFrequencies",
    "Periodic",
    "RandomProjection",
    "Resize",
    "RunningNormalizer",
    "SelectKeys",
    "load_embedding",
]
