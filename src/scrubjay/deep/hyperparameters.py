"""The ranges of the hyper-parameters that several methods have, each written once."""

from typing import Annotated

from scrubjay.agents.settings import Range

BatchSize = Annotated[int, Range(1, tune=(16, 512), log=True)]
LearningRate = Annotated[float, Range(0, above=True, tune=(1e-5, 1e-2), log=True)]
Discount = Annotated[float, Range(0, 1, tune=(0.9, 0.999))]
TargetUpdateRate = Annotated[float, Range(0, 1, above=True, tune=(0.001, 0.05), log=True)]
BufferSize = Annotated[int, Range(1)]
LearningStarts = Annotated[int, Range(0)]
