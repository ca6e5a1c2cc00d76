"""The C backend of the package `zstandard`, by itself.

The package around it imports `platform` and, before Python 3.12, `typing`: 7 of the 50 milliseconds of a short command,
to find out that this is CPython.  Where the backend is not found (or another is asked for), the package decides.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

from exhume.lighttyping import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import zstandard as libzstd
else:

    def _load() -> Any:
        name = "zstandard.backend_c"
        if "zstandard" not in sys.modules and "PYTHON_ZSTANDARD_IMPORT_POLICY" not in os.environ:
            package = PathFinder.find_spec("zstandard")
            found = package and PathFinder.find_spec(name, package.submodule_search_locations)
            if found and found.loader:
                # Under its own name, so that a later `import zstandard` takes this very module.
                module = sys.modules[name] = found.loader.create_module(found)
                module.__spec__ = found
                try:
                    found.loader.exec_module(module)
                except ImportError:
                    del sys.modules[name]
                else:
                    return module
        import zstandard

        return zstandard

    libzstd = _load()

__all__ = ["libzstd"]
