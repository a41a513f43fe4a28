"""Runs as data: reading, groups, curves, statistics, tables."""
