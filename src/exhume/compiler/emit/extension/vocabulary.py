"""Whether the text of an extension module has nothing in it but words and numbers of ours, before it is built.

No name, no text and no constant of a specification is in such source, except numbers.  So it is enough to look at its
words, each for itself: whatever a specification says, no other text can be written with them.
"""

from __future__ import annotations

import re

from exhume.compiler.refusal import UnsupportedError

_WORD = re.compile(r'"[^"]*"|\'[^\']*\'|[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[^\sA-Za-z0-9_]')
_NUMBERED = re.compile(r"[vpnfgrqa][0-9]+$")
_SIGNS = frozenset("()[]{}<>=+-*/%&|^~.,:!?")
_TEXTS = frozenset(("''",))
WORDS = frozenset(
    """
    def cdef return if else while for in range try except as pass break and or not is
    None True False const tuple rest F G refuse put_word put_unsigned list b object
    uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t Py_ssize_t double bint
    Stream Run Column TypeError PyTypeObject NULL K O
    l1 l2 l4 l8 b1 b2 b4 b8 as_float as_double fits spans sliced text_of seek sat satu near place
    slot_get slot_put slot_make slot_word field_of S member_of SLOT is_kept stream_of run_of a_stream a_run
    column_of ends_at bits_of is_there raise TypeError word_in
    push1 push2 push4 push8 pushu pusho pushf pushd PyObject_TypeCheck enter leave fail interpreted call error
    deeper shallower step hold ended look need again Call BaseException look_at_text
    reached after low high other others many_others found owner self
    view at end io parent root big run count base left held most size steps many
    getattr setattr str join len int bool bytes float isinstance max min memoryview tuple
    AssertionError AttributeError UnicodeDecodeError
    append find from_bytes is_eof over pos rstrip with_traceback within hold include short object
    p n
    """.split()  # noqa: SIM905 - many words
)


def look_at(text: str) -> None:
    """Raise `UnsupportedError` for source with anything that extension modules do not contain."""
    for number, line in enumerate(text.split("\n"), 1):
        for word in _WORD.findall(line):
            known = word.isdigit() or word in _SIGNS or word in WORDS or word in _TEXTS or _NUMBERED.match(word)
            if not known:
                raise UnsupportedError(
                    f"its compiled code would have what no extension has: {word[:60]!r}, line {number}"
                )
