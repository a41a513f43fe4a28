"""Reinforcement learning that remembers: episodic memories and the agents that act from them."""

__version__ = "0.1.0"
