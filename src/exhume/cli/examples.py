"""An example or two for each verb, as its help, its page in `docs/cli.md` and its manual page show them.

They are run by the tests in a folder that holds `image.dd` (a disk image), `events.clps`, `words.zs`, `words.txt`,
`files.caf`, `files/`, `robot/` (an Ark log), `photos.bundle/`, `database/` (LevelDB), `app.jsonl`, `messages.jsonl`,
`robot.idl` and `readings.ksy`.
"""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "audit": ("exhume verify words.zs --audit case.jsonl && exhume audit case.jsonl",),
    "browse": ("exhume browse words.zs",),
    "carve": ("exhume carve image.dd", "exhume carve image.dd --only zs -o found"),
    "cat": (
        "exhume cat words.zs --prefix ap",
        "exhume cat files.caf 'files/letters/*'",
        "exhume cat robot --topic '/robot/*'",
    ),
    "catalog build": ("exhume catalog build chunks.db files.caf",),
    "catalog find": ("exhume catalog find chunks.db '*.txt'",),
    "catalog check": ("exhume catalog check chunks.db",),
    "compile": ("exhume compile readings.ksy -o readings",),
    "completion": ("source <(exhume completion bash)",),
    "create ark": ("exhume create ark messages.jsonl -o log --schema robot.idl --type /robot/pose=demo::Pose",),
    "create caf": ("exhume create caf files -o new.caf", "tar c files | exhume create caf --from-tar - -o tarred.caf"),
    "create clp-s": ("exhume create clp-s app.jsonl -o new.clps --timestamp-key timestamp",),
    "create databundle": ("exhume create databundle files -o new.bundle --compression zlib",),
    "create kv-ir": ("exhume create kv-ir app.jsonl -o new.clp.zst",),
    "create clp-ir": ("exhume create clp-ir log.jsonl -o new.clp.zst --zone Europe/Berlin",),
    "create zs": ("exhume create zs words.txt -o new.zs --sort", "sort words.txt | exhume create zs - -o piped.zs"),
    "diff": ("exhume diff photos.bundle files",),
    "explain": ("exhume explain words.zs --section header", "exhume explain words.zs --html words.html"),
    "explore": ("exhume explore words.zs --no-browser --idle 1",),
    "export": ("exhume export events.clps --to parquet -o events.parquet", "exhume export words.zs --to jsonl"),
    "extract": (
        "exhume extract files.caf -o extracted",
        "exhume extract files.caf 'files/letters/*' --tar letters.tar",
    ),
    "formats": ("exhume formats",),
    "identify": ("exhume identify words.zs files.caf",),
    "info": ("exhume info words.zs --stats",),
    "list": ("exhume list files.caf --long", "exhume list words.zs --sections"),
    "map": ("exhume map words.zs --svg words.svg",),
    "payload": ("exhume payload words.zs data-0 -o block.bin",),
    "recode": ("exhume recode words.zs -o stored.zs --stored",),
    "repair": ("exhume repair robot --name repaired",),
    "report": (
        "exhume report image.dd -o case.html || [ $? -eq 3 ]",
        "exhume report robot -o folder.html --folder parts",
    ),
    "salvage": ("exhume salvage words.zs -o rescued.zs", "exhume salvage files.caf -o rescued --as-files"),
    "schema": ("exhume schema", "exhume schema zs --bundle"),
    "search": ("exhume search events.clps 'level: ERROR'", "exhume search words.zs ap --count"),
    "selftest": ("exhume selftest --count 2", "exhume selftest --count 3 -o report"),
    "snippet": ("exhume snippet robot --topic /robot/pose -o poses",),
    "verify": ("exhume verify words.zs files.caf", "exhume verify --recursive files"),
}
"""The commands, by the verb that they show."""
