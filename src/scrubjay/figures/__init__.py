"""Data as pictures: style, curves, maps."""
