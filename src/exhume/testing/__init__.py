"""The test kit: lying and counting sources, corruption helpers, contracts that every format's tests inherit."""
