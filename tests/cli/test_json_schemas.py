"""The JSON Schemas: valid, fresh, of every form, and of one mind with `docs/json.md`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.test_json_docs import FREE, PAGE, reported
from tests.json_schemas import NAME, load, validate
from tools import json_schemas

Cli = Callable[..., Any]
FORMS = sorted(json_schemas.FORMS)


def named(schema: Any) -> Iterator[str]:
    """The keys that a schema names, without those below which the names are data."""
    if isinstance(schema, dict):
        for key, value in schema.get("properties", {}).items():
            yield key
            if key not in FREE:
                yield from named(value)
        for key, value in schema.items():
            if key != "properties":
                yield from named(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from named(value)


@pytest.mark.parametrize("name", FORMS)
def test_each_is_a_schema_whose_keys_the_page_lists(name: str) -> None:
    schema = load(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"exhume.{name}/1"
    assert set(named(schema)) - reported(f"exhume.{name}") == set()


def test_every_form_of_the_page_has_one() -> None:
    assert {*NAME.findall(PAGE)} >= {*FORMS}
    documented = {word for line in PAGE.splitlines() if line.startswith("## exhume") for word in NAME.findall(line)}
    assert documented <= {*FORMS}


def test_they_are_fresh(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert json_schemas.main(check=True) == 0
    monkeypatch.setattr(json_schemas, "ROOT", tmp_path)
    monkeypatch.setattr(json_schemas, "FOLDER", tmp_path / "schemas")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "gone.json").write_text("{}")
    assert json_schemas.main(check=True) == 1
    assert "make json-schemas" in capsys.readouterr().out
    assert json_schemas.main(check=False) == 0
    assert json_schemas.main(check=True) == 0


def test_what_is_wrong_is_refused(exhume_cli: Cli, samples: Path) -> None:
    document = json.loads(exhume_cli("verify", "--json", samples / "zs" / "words-none.zs").out)
    validate(document)
    for key, value in (("ok", "yes"), ("findings", [{"code": "ZS-1"}]), ("unknown", 1), ("schema", "exhume.verify/2")):
        with pytest.raises((jsonschema.ValidationError, AssertionError)):
            validate(document | {key: value})
    del document["ok"]
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


def documents(text: str) -> Iterator[dict[str, Any]]:
    """The documents of an output, in order."""
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:]


@pytest.mark.parametrize("form", ["--json", "--ndjson"])
def test_recursive_documents_are_reported(form: str, exhume_cli: Cli, samples: Path) -> None:
    for verb in (["verify"], ["identify"], ["info"], ["list"], ["list", "--sections"], ["explain", "--coverage"]):
        found = list(documents(exhume_cli(*verb, "--recursive", form, samples / "caf").text))
        assert {"exhume.file/1", "exhume.walk/1"} <= {document["schema"] for document in found}
        for document in found:
            validate(document)
