"""Data by a specification without generated code: reads them step by step, and makes up instances."""
