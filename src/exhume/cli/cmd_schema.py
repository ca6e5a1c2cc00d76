"""`exhume schema`: the specifications that everything is read by."""

from __future__ import annotations

import click

from exhume.cli.params import Verb
from exhume.cli.runtime import Run, plain_options


@click.command("schema", cls=Verb)
@click.argument("specification", metavar="[NAME]", required=False)
@click.option("--bundle", is_flag=True, help="Self-contained: imported types become nested types (extra: ksy).")
@plain_options
def command(run: Run, specification: str | None, bundle: bool) -> None:
    """Print a Kaitai Struct specification, or list them.

    With --bundle it is one file for the Kaitai Web IDE, or for a compiler of any language.
    """
    from exhume.layout.specifications import ids, spec
    from exhume.layout.specifications import specification as text_of

    if specification is None:
        found = [{"name": id, "title": str(spec(id).get("meta", {}).get("title", ""))} for id in ids()]
        if run.machine:
            run.items("schema", {}, "schemas", found)
        else:
            run.print_table(([one["name"], one["title"]] for one in found), ["name", "title"])
        return
    text = text_of(specification, bundle=bundle)
    if run.machine:
        run.document("schema", {"name": specification, "bundle": bundle, "text": text})
    else:
        run.out.text(text)
