"""Archives as tables: Arrow types and batches, datasets."""
