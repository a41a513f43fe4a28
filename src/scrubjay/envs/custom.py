"""Custom tasks, "my_module:MyEnv": a class, a function, or an id that the module registers."""

import difflib
import inspect
import sys
from types import ModuleType

import gymnasium
from gymnasium.envs.registration import EnvSpec

from scrubjay.envs.catalog import UnknownTaskError
from scrubjay.optional import import_from_here


def environment_spec(task: str) -> str | EnvSpec:
    """The argument of `gymnasium.make` for a task.

    Args:
        task: An id, or "module:Name", where Name is an id that the module registers, a class, or a
            function that returns an environment. The module is imported.

    Returns:
        The id, or the description of the class or function.

    Raises:
        UnknownTaskError: If the module does not exist, or does not have what was named.
    """
    name, colon, attribute = task.partition(":")
    if not colon:
        return task
    module = _imported(name, task)
    found = getattr(module, attribute, None)
    if found is None:
        if (attribute and not attribute.isidentifier()) or attribute in gymnasium.registry:
            return task  # an id
        raise UnknownTaskError(_nothing_there(module, name, attribute))
    if not callable(found):
        raise UnknownTaskError(
            f"expected {task} to be an environment class or a function that returns an "
            f"environment, got {type(found).__name__}"
        )
    return EnvSpec(id=task, entry_point=task)


def needs_import(task: str) -> bool:
    """Whether making a task executes code that only its name points to.

    That is so for every "module:Name", except for the id of an environment that a module which is
    imported already has registered.
    """
    name, colon, attribute = task.partition(":")
    if not colon:
        return False
    module = sys.modules.get(name)
    return module is None or hasattr(module, attribute) or attribute not in gymnasium.registry


def _imported(name: str, task: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")) or name.endswith(".py"):
        module = name.removesuffix(".py").lstrip("./").replace("/", ".")
        raise UnknownTaskError(
            f"expected a module before the colon, got {name!r}; write "
            f"{module}:{task.partition(':')[2]}"
        )
    try:
        return import_from_here(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module exists, and imports one that does not
        raise UnknownTaskError(
            f"there is no module {name!r} for the task {task!r}; run this command in the folder of "
            f"{name.replace('.', '/')}.py, or install its package"
        ) from error


def _nothing_there(module: ModuleType, name: str, attribute: str) -> str:
    """The message for a name that a module does not have; suggests those that it has."""
    environments = [
        found
        for found, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, gymnasium.Env)
        and value.__module__ == module.__name__
    ]
    functions = [found for found, value in vars(module).items() if inspect.isfunction(value)]
    near = difflib.get_close_matches(attribute, [*environments, *functions], n=1, cutoff=0.5)
    words = f"the module {name!r} has no {attribute!r}" if attribute else f"expected {name}:NAME"
    options = near or environments[:3]
    if options:
        return f"{words}; did you mean {' or '.join(f'{name}:{found}' for found in options)}?"
    return f"{words}: no class or function of this name, and it registers no such id"
