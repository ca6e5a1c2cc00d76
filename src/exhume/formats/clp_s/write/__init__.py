"""From JSON text to the bytes of a clp-s archive."""
