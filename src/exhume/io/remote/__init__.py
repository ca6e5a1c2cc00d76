"""Remote sources: stores addressed by URLs, their objects, and read-ahead."""
