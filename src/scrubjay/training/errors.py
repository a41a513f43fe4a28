"""The errors of runs and their folders."""


class RunError(ValueError):
    """A run that cannot be used, or runs that do not belong together."""


class RunFolderError(RunError):
    """A folder that cannot be used: not a run, damaged, or already in use."""


class RunExistsError(RunFolderError):
    """A new run was to be created where there is one already."""


class LockedError(RunFolderError):
    """Another process works in this run folder."""
