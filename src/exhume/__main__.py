"""`python -m exhume`."""

from exhume.cli.start import run

if __name__ == "__main__":
    run()
