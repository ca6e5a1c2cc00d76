"""Fuzzing: every entry with input that its specifications, samples and an engine draw; see `targets` and `run`."""
