"""Builds the one optional compiled module; everything else is declared in pyproject.toml.

`exhume._kernel` holds the measured hot loops.  Where no C compiler (or no Cython) is at hand the build goes on
without it: `exhume.kernel` then uses the pure-Python twin, which the same tests run.
"""

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNEL = "src/exhume/_kernel.pyx"


class OptionalBuildExt(build_ext):
    """Leaves the kernel out, with a notice, when it cannot be compiled."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:  # any toolchain failure means "no compiler here"
            self._notice(error)

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception as error:
            self._notice(error)

    def _notice(self, error: Exception) -> None:
        self.warn(f"exhume._kernel was not compiled ({error}); the slower pure-Python kernel will be used")


def extensions() -> list[Extension]:
    if not Path(KERNEL).exists():
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    extension = Extension("exhume._kernel", [KERNEL], optional=True, extra_compile_args=["-O3", "-g0"])
    return list(cythonize([extension], language_level=3))


setup(ext_modules=extensions(), cmdclass={"build_ext": OptionalBuildExt})
