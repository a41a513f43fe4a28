"""The local page of `scrubjay inspect RUN --web`."""
