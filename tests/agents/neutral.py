"""`CECPlus` with the settings of `CEC` and every addition switched off, which is `CEC` again."""

import numpy as np

from scrubjay.agents import CEC, CECPlus
from scrubjay.agents.files import NEUTRAL
from scrubjay.agents.planning import transition_columns
from scrubjay.agents.settings import settings_of
from scrubjay.embedding import Identity

LIKE_CEC = {
    **{name: setting.default for name, setting in settings_of(CEC).items()},
    "embedding": Identity(),
    **NEUTRAL,
}


def neutral_plus(env, **options):
    """One or several of the additions can be switched on by `options`."""
    if options.get("embedding", 0) is None:
        options["embedding"] = Identity()
    return CECPlus(env, **{**LIKE_CEC, **options})


def remember(agent, key, value, action, led_to):
    """Write a row of one dimension, the last step of an episode, into a memory for planning."""
    columns = transition_columns(np.array([[led_to]]), np.array([[action]]), np.zeros(1))
    agent.memory.write_many([[key]], [value], **columns)
    agent.memory_changed()


# the two have a compiled kernel each, so what both must do is tested with both
KINDS = {"CEC": CEC, "neutral CECPlus": neutral_plus}
