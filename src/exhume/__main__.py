"""`python -m exhume`."""

from exhume.cli.main import run

if __name__ == "__main__":
    run()
