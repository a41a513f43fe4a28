"""The HTML page about any set of runs."""
