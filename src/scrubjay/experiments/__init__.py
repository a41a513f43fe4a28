"""Many runs: reading them, their statistics, figures and the report."""
