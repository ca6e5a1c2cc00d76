"""clp-s single-file archives: compressed, searchable JSON logs (format versions 0.2.0 to 0.5.1)."""
