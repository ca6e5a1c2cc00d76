"""Budgets and checked operations: the last part of `_layout` for specifications of users, as source code.

A `Run` has the budgets of a reading: `steps`, so that no data keeps it busy forever, and `held`, bytes of memory.  The
functions below it are the operations of expressions whose cost depends on the data: each charges it, or raises a
`BudgetError`.  Names in capitals between `<` and `>`, such as `<STEPS>`, are replaced by the limits of `refusal`.
"""

from __future__ import annotations

BOUNDED = '''

import zlib


def read_outside(read: Any, view: View, at: int, end: int, *arguments: Any) -> tuple[Any, int]:
    """Call the caller's reader of an opaque type, which returns a value and its size; return the value and its end."""
    value, size = read(bytes(view[at:end]), *arguments)
    if not isinstance(size, int) or not 0 <= size <= max(0, end - at):
        raise LayoutError("", at, end, "a size within the stream", size)
    return value, at + size


def processed(routine: Any, data: View, *arguments: Any) -> bytes:
    """Return bytes decoded by the caller's `process` routine.  Raises `TypeError` if it returns anything else."""
    return bytes(memoryview(routine(*arguments).decode(bytes(data))))


def named(names: Any, value: Any) -> Any:
    """Return a number, or each number of a list, as the member of an enum if it has one.

    `names(number, default)` looks a number up.  None, the value of an absent field, stays None.
    """
    if value is None or isinstance(value, int):
        return names(value, value)
    return [names(one, one) for one in value]


MOST_BITS = <BITS>
"""Most bits of a computed number; Kaitai's own have 64."""
MOST_DIGITS = <DIGITS>
"""Most characters of a string that is converted to a number."""
MOST_TEXT = <TEXT>
"""Most characters of a computed string."""


class BudgetError(LayoutError):
    """A specification requests more than one reading may cost; the bytes may be valid."""

    budget = True


class Run:
    """The remaining budgets of one reading of `size` bytes.

    `steps` are structures, elements and instances, at first `most`; `held` are bytes that may be copied, decoded or
    made. `again` has the budgets for reading lists again.
    """

    __slots__ = ("again", "held", "most", "size", "steps")

    def __init__(self, size: int) -> None:
        self.size = size
        self.again: Any = None
        self.steps = self.most = <STEPS> + <STEPS_PER_BYTE> * size
        self.held = <HELD> + <HELD_PER_BYTE> * size

    def second(self) -> Run:
        """Return the budgets for reading lists again, which all lists of one reading share."""
        if self.again is None:
            self.again = Run(self.size)
        return self.again

    def over(self, at: int, path: str = "") -> BudgetError:
        """Return the error for too many steps."""
        return BudgetError(path, at, at, f"at most {self.most} structures, elements and instances", "more")

    def hold(self, many: int, path: str = "", at: int = 0) -> None:
        """Charge bytes to the budget; raises `BudgetError` if it is used up."""
        self.held -= many
        if self.held < 0:
            raise self.spent(path, at)

    def spent(self, path: str = "", at: int = 0) -> BudgetError:
        """Return the error for too many bytes."""
        most = <HELD> + <HELD_PER_BYTE> * self.size
        return BudgetError(path, at, at, f"at most {most} bytes that are copied, decoded or made", "more")

    def endless(self, path: str = "", at: int = 0) -> BudgetError:
        """Return the error for a list with too many elements that take no bytes, which might never end."""
        return BudgetError(path, at, at, "elements that take bytes", "more than <EMPTY> that take none")


def weighed(run: Run, value: Any, times: int = 1) -> Any:
    """Charge `times` the length of a value that is about to be examined completely, and return the value."""
    if value is not None:
        run.hold(len(value) * times)
    return value


def shifted(number: int, places: int) -> int:
    """Return `number << places`; raises `BudgetError` for too many bits, as growing numbers would fill the memory."""
    if number.bit_length() + places > MOST_BITS:
        raise BudgetError("", 0, 0, f"a number of at most {MOST_BITS} bits", "more")
    return number << places


_WORD = 1 << 64
"""Results between this and its negative are far from any bound, so they are not examined further."""
_LEAST = -_WORD


def multiplied(one: Any, other: Any) -> Any:
    """Return a product; raises `BudgetError` for an integer of too many bits.

    The factors are below this bound as well, so that multiplying them takes little time.
    """
    made = one * other
    if _LEAST < made < _WORD:  # tested first, as nearly all products are
        return made
    if isinstance(made, int) and made.bit_length() > MOST_BITS:
        raise BudgetError("", 0, 0, f"a number of at most {MOST_BITS} bits", "more")
    return made


def joined(run: Run, first: Any, second: Any, *others: Any) -> Any:
    """Return `first + second + ...` of numbers or strings; raises `BudgetError` for too many bits or characters."""
    if type(first) is int and _LEAST < first < _WORD and not others:
        return first + second
    for other in (second, *others):
        if isinstance(first, str):
            if len(first) + len(other) > MOST_TEXT:
                raise BudgetError("", 0, 0, f"at most {MOST_TEXT} characters put together", "more")
            run.hold(len(first) + len(other))
        elif isinstance(first, int) and first.bit_length() > MOST_BITS:
            raise BudgetError("", 0, 0, f"a number of at most {MOST_BITS} bits", "more")
        first = first + other
    return first


def number(text: str, base: int = 10) -> int:
    """Return a string as a number; raises `BudgetError` for one of many digits, which would take long."""
    if len(text) > MOST_DIGITS:
        raise BudgetError("", 0, 0, f"a number of at most {MOST_DIGITS} digits", f"{len(text)} characters")
    return int(text, base)


def taken(value: Any, classes: Any, wanted: str) -> Any:
    """Return a value if it is of the class that the specification expects, or None; raises `LayoutError` for others."""
    if value is None or isinstance(value, classes):
        return value
    found = "something else"
    for kind, word in ((int, "an integer"), (float, "a float"), (str, "a text"), (list, "a list")):
        if isinstance(value, kind):
            found = word
    raise LayoutError("", 0, 0, wanted, found)


def all_taken(run: Run, values: Any, classes: Any, wanted: str) -> Any:
    """Return a list if `taken` accepts all its elements, or None; raises `LayoutError` for others."""
    if isinstance(values, (int, float, str)):
        raise LayoutError("", 0, 0, "a list", "a single value")
    for one in weighed(run, values) if values is not None else ():
        taken(one, classes, wanted)
    return values


def find(run: Run, view: View, mark: bytes, at: int, end: int) -> int:
    """Return the offset of the terminator `mark` in `view[at:end]`, -1 without one.

    Only multiples of its length from `at` on count: `00 00` ends a string of two-byte characters between two of them.
    The bytes before it are charged, in parts, before many of them are examined.
    """
    width = len(mark)
    for start in range(at, end, 4096 * width):
        part = bytes(view[start : min(end, start + 4096 * width)])
        found = part.find(mark)
        while found % width and found >= 0:
            found = part.find(mark, found + 1)
        if found >= 0:
            run.hold(found)
            return start + found
        run.hold(len(part))
    return -1


def ended(run: Run, data: View, mark: bytes, include: bool = False) -> View:
    """Return bytes up to their terminator `mark`, which is part of them if `include`; all of them without one."""
    if type(data) is bytes and len(mark) == 1:
        found = data.find(mark)
        run.held -= len(data) if found < 0 else found
        if run.held < 0:
            raise run.spent()
    else:
        found = find(run, data, mark, 0, len(data))
    return data if found < 0 else data[: found + len(mark) if include else found]


def bits(view: View, bit: int, end: int, width: int, order: Any, path: str) -> int:
    """Return the number in `width` bits from the position `bit`, which is counted in bits, on.

    `order` is that of the bytes and of the bits in them.  If bits are missing, the error is at the next whole byte.
    """
    first, last = bit // 8, (bit + width + 7) // 8  # the bytes `[first, last)` contain the bits
    if last > end:
        unread = -(-bit // 8)  # the first byte of which no bit was read
        raise short(path, unread, end, last - unread)
    number = int.from_bytes(view[first:last], order)
    shift = bit % 8 if order == "little" else last * 8 - bit - width  # bits of `number` below those of the field
    return number >> shift & (1 << width) - 1


def inflated(run: Run, data: View, path: str, at: int) -> bytes:
    """Decompress bytes (zlib), and charge the result; the field `path` is at the offset `at`.

    The result is data as well: it adds steps to the budget, for at most `<INFLATED>` times the size of `data`.
    """
    inflate = zlib.decompressobj()
    try:
        out = inflate.decompress(data, max(0, run.held) + 1)  # a longer one fails below
    except zlib.error as error:
        raise LayoutError(path, at, at + len(data), "compressed bytes (zlib)", str(error)) from error
    run.hold(len(out), path, at)
    more = <STEPS_PER_BYTE> * min(len(out), <INFLATED> * len(data))
    run.steps, run.most = run.steps + more, run.most + more
    if not inflate.eof:
        raise LayoutError(path, at, at + len(data), "a whole stream (zlib)", "one that is truncated")
    return out


def xored(run: Run, data: View, key: int | View) -> bytes:
    """Return bytes combined (XOR) with a key, which is repeated: a number, bytes, or a list of numbers.

    Numbers of the list after the length of `data` are not used, so they need not be bytes.  An empty key yields no
    bytes.
    """
    run.hold(len(data) + (0 if isinstance(key, int) else len(key)))
    numbers = [key] if isinstance(key, int) else key
    used = bytes(numbers if isinstance(numbers, bytes) else list(numbers[: len(data)])) if data else b""
    if not used:
        return b""
    repeated = used * (len(data) // len(used) + 1)
    # As two long numbers, which Python combines much faster than byte by byte.
    combined = int.from_bytes(data, "little") ^ int.from_bytes(repeated[: len(data)], "little")
    return combined.to_bytes(len(data), "little")


def rotated(run: Run, data: View, amount: int) -> bytes:
    """Return bytes, each rotated to the left by 0 to 8 bits.

    Raises `LayoutError` for other amounts, about which Kaitai's languages disagree.
    """
    if not 0 <= amount <= 8:
        raise LayoutError("", 0, 0, "to rotate by 0 to 8 bits", amount)
    run.hold(len(data))
    amount %= 8
    return bytes(data).translate(bytes((one << amount | one >> 8 - amount) & 255 for one in range(256)))
'''
