"""`exhume compile`: fast readers from a Kaitai Struct specification."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from exhume.cli.params import Verb
from exhume.cli.runtime import Run, plain_options
from exhume.counts import counted


@click.command("compile", cls=Verb)
@click.argument("spec", metavar="SPEC.ksy")
@click.option("-o", "--output", metavar="DIR", help="The package of readers to write (default: only check).")
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="DIR",
    help="Another folder with imported specifications (repeatable).",
)
@click.option("--native", is_flag=True, help="Build the readers with the C compiler of this machine (extra native).")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@plain_options
def command(run: Run, spec: str, output: str | None, imports: tuple[str, ...], native: bool, overwrite: bool) -> None:
    """Compile a .ksy specification to standalone Python readers.

    An unsupported construct is an error that names it and its field.  Needs the extra ksy.  With --native the package
    has an extension module as well, which reads many times faster; if it cannot be built, the command prints the
    reason.
    """
    from exhume.io.output.tree import OutputTree
    from exhume.layout.foreign import compile_ksy
    from exhume.layout.foreign_modules import NativeWarning

    # An extension that cannot be built is only a warning: the readers in Python are written in any case.
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", NativeWarning)
        specification = compile_ksy(spec, imports=imports, native=native)
    for one in warned:
        run.note(str(one.message))
    package = specification.package  # path of each file: content
    if output is not None:
        with OutputTree(output, overwrite=overwrite) as tree:
            for path, content in package.items():
                tree.write(path, [content])
    types = [type for schema in specification.model.schemas.values() for type in schema.all()]
    if run.machine:
        files = sorted(package) if output is not None else []
        body = {"specification": spec, "id": specification.id, "compiled": sorted(specification.specs)}
        run.document("compile", {**body, "types": len(types), "output": output, "files": files})
        return
    root = specification.model.schemas[specification.id]
    read = len(specification.specs)
    run.print(f"{specification.id}: {counted(len(types), 'types')} of {counted(read, 'specifications')}")
    if output is not None:
        run.print(f"written to {output}: from {Path(output).name}.{specification.id} import {root.reader_name}")
