# Finds the ends of the units of a KV-IR stream, and the units that declare keys.  A unit is an event, a declaration of
# a key or another complete item of the stream, and consists of tokens.  Statuses (`IR_...`) and classes of tokens
# (`C_...`) are those of native.pxi.

cdef inline int64_t ir_pass(const uint8_t* p, int64_t at, int64_t end) noexcept nogil:
    """The end of the token at `at`; -1 if the data end before it, or it is invalid."""
    cdef ClpKvIrToken token
    cdef int64_t size
    if at < end:  # most tokens have a size that depends on the tag alone
        size = ir_size[p[at]]
        if 0 < size <= end - at:
            return at + size
    return read_clp_kv_ir_token(p, at, end, &token)


cdef inline int64_t ir_pass_value(const uint8_t* p, int64_t* place, int64_t end) noexcept nogil:
    """The end of the value at `place`: one token, or encoded text (a marker, its variables and its log type).

    If there is no complete value, return `-1 - status` (IR_MORE or IR_UNEXPECTED), and set `place` to the bad token.
    """
    cdef int64_t at = place[0], after = ir_pass(p, at, end)
    cdef int what
    if after >= 0:
        what = ir_class[p[at]]
        if what == C_APART:  # encoded text
            while what == C_APART or what == C_VARIABLE or what == C_VARIABLE_TEXT:
                at = after
                after = ir_pass(p, at, end)
                if after < 0:
                    break
                what = ir_class[p[at]]
                if what == C_LOG_TYPE:
                    return after
                if what == C_APART:
                    break
        elif C_INTEGER <= what <= C_NULL:
            return after
    place[0] = at
    return -1 - (IR_MORE if after < 0 else IR_UNEXPECTED)


cdef int ir_scan(const uint8_t* p, int64_t at, int64_t end, int64_t target, IrStop* stop, EncBuf* declared) except -2 nogil:
    """Implementation of `scan_units`, whose results go to `stop`; `declared` gets the start and end offset of each unit
    that declares a key.
    """
    cdef ClpKvIrToken token
    # The keys of the user in the last event: most events have the same ones, which are skipped by one comparison.
    cdef const uint8_t* keys = NULL
    cdef int64_t num_keys = 0, size_keys = 0, after, unit, first, i
    cdef int what
    while at < end:
        unit = at
        if unit >= target:
            return ir_stop(stop, IR_FULL, unit, unit, -1)
        after = read_clp_kv_ir_token(p, at, end, &token)
        if after < 0:
            return ir_stop(stop, IR_MORE, unit, at, -1)
        what = ir_class[token.tag]
        if what == C_NODE:  # declares a key: its parent and its name follow
            for i in range(2):
                at = after
                after = ir_pass(p, at, end)
                if after < 0:
                    return ir_stop(stop, IR_MORE, unit, at, -1)
            enc_buf_u64(declared, unit)
            enc_buf_u64(declared, after)
        elif what == C_KEY:  # an event: first the pairs of the logger, whose keys have negative numbers
            while what == C_KEY and <int64_t>token.number1 + token.number2 + token.number4 < 0:
                at = after
                after = ir_pass_value(p, &at, end)
                if after < 0:
                    return ir_stop(stop, <int>(-1 - after), unit, at, -1)
                at = after
                after = read_clp_kv_ir_token(p, at, end, &token)
                if after < 0:
                    return ir_stop(stop, IR_MORE, unit, at, -1)
                what = ir_class[token.tag]
            if what == C_KEY:  # all keys of the user, then all values
                if num_keys and end - at > size_keys and memcmp(p + at, keys, size_keys) == 0 \
                        and ir_class[p[at + size_keys]] != C_KEY:
                    after = at + size_keys
                else:
                    first, num_keys = at, 0
                    while what == C_KEY:
                        num_keys += 1
                        at = after
                        after = read_clp_kv_ir_token(p, at, end, &token)
                        if after < 0:
                            return ir_stop(stop, IR_MORE, unit, at, -1)
                        what = ir_class[token.tag]
                    keys, size_keys, after = p + first, at - first, at
                for i in range(num_keys):
                    at = after
                    after = ir_pass_value(p, &at, end)
                    if after < 0:
                        return ir_stop(stop, <int>(-1 - after), unit, at, -1)
            elif what != C_EMPTY:
                return ir_stop(stop, IR_UNEXPECTED, unit, at, -1)
        elif what == C_END:
            return ir_stop(stop, IR_END, unit, unit, -1)
        elif what != C_OFFSET and what != C_EMPTY:
            return ir_stop(stop, IR_UNEXPECTED, unit, at, -1)
        at = after
    return ir_stop(stop, IR_FULL if at >= target else IR_MORE, at, at, -1)


def scan_units(const unsigned char[::1] data not None, int64_t at, int64_t target):
    """Find where units end from `at` on, up to the first end at or after `target`.

    Returns the status; the offset of the unit that was not passed; that of the token at which the scan ended; and the
    range of each declaration of a key.
    """
    cdef int64_t end = data.shape[0]
    if not 0 <= at <= end:
        raise ValueError("outside of the data")
    cdef const uint8_t* p = &data[0] if end else NULL
    cdef IrStop stop
    cdef EncBuf declared
    cdef size_t i
    memset(&declared, 0, sizeof(EncBuf))
    try:
        with nogil:
            ir_scan(p, at, end, target, &stop, &declared)
        places = [(<int64_t*>declared.p)[i] for i in range(declared.n // sizeof(int64_t))]
    finally:
        enc_buf_free(&declared)
    return stop.status, stop.unit, stop.place, list(zip(places[::2], places[1::2]))
