"""Sources that lie elsewhere: stores behind URLs, their objects, and what is read ahead of them."""
