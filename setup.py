"""Builds the two optional compiled modules; everything else but what the README becomes on a package
index is declared in pyproject.toml.

`exhume.native._kernel` holds the measured hot loops, `exhume_ksy.fast._native` the columns that the specifications were
compiled to.  Where no C compiler (or no Cython) is at hand the build goes on without them: what they do is then
interpreted, and the same tests run both.  `EXHUME_PURE=1` leaves them out on purpose: the wheel is then one for every
system.
"""

import os
import re
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODULES = {
    "exhume.native._kernel": "src/exhume/native/_kernel.pyx",
    "exhume_ksy.fast._native": "generated/exhume_ksy/fast/_native.pyx",
}


def description() -> str:
    """The README as a package index shows it: its links to files of the project are text, and its pictures left out.

    An index has neither the files nor, as long as the project has no public address, anywhere else to lead to.
    """
    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", "", text, flags=re.MULTILINE)
    return re.sub(r"\[((?:[^\[\]]|\n)+)\]\((?!https?:|#)[^)]*\)", r"\1", text)


class OptionalBuildExt(build_ext):
    """Compiles both beside each other; leaves out, with a notice, what cannot be compiled."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or True

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:  # any toolchain failure means "no compiler here"
            self._notice(error)

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception as error:
            self._notice(error, ext.name)

    def _notice(self, error: Exception, what: str = "the kernel") -> None:
        self.warn(f"{what} was not compiled ({error}); the slower twin in Python will be used")


def extensions() -> list[Extension]:
    if os.environ.get("EXHUME_PURE", "") not in ("", "0") or not all(Path(path).exists() for path in MODULES.values()):
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    # `make fuzz-kernel` compiles with sanitizers instead.
    how = {"optional": True, "extra_compile_args": os.environ.get("EXHUME_KERNEL_FLAGS", "-O3 -g0").split()}
    found = [Extension(name, [path], **how) for name, path in MODULES.items()]
    return list(cythonize(found, language_level=3))


setup(
    ext_modules=extensions(),
    cmdclass={"build_ext": OptionalBuildExt},
    long_description=description(),
    long_description_content_type="text/markdown",
)
