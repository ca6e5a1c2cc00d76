"""From the bytes of a clp-s archive to its records."""
