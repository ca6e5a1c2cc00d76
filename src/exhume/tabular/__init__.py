"""Archives as tables: Arrow types and batches (`arrow`), datasets, very wide tables, and the report of an export."""
