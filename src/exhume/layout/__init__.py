"""From specifications to values: generated readers, positions for explain, sections, specifications of others."""
