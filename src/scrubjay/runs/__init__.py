"""Many runs: what a run is made of, starting and resuming it, presets, sweeps."""
