"""Data by a specification without generated code: reads it step by step, and makes random instances."""
