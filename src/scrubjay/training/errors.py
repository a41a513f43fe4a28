"""The errors of runs and their folders."""


class RunError(ValueError):
    """A run that cannot be used, or runs that do not belong together."""


class RunFolderError(RunError):
    """A folder that is not what was expected: not a run, damaged, or already used."""


class RunExistsError(RunFolderError):
    """A new run was to be created where there is one already."""


class LockedError(RunFolderError):
    """Another process works in this run folder."""
