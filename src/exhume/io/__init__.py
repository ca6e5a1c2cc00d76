"""Bytes and where they come from: sources and trees, remote ones, many small files, work in parallel, output."""
