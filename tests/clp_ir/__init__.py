"""Tests of IR streams of text."""
