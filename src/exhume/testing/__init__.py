"""The test kit: misreporting and counting sources, corruption helpers, contracts that every format's tests inherit."""
