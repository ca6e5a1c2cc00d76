# Joins two clp-s encoders, included by _kernel.pyx: one (`piece` below) encoded a chunk of the input in another
# thread; the other (`self`) encoded all that comes before, and absorbs the records of the chunk.  The result is as if
# `self` had encoded the chunk itself: nodes, dictionary entries and tables are numbered in the order of their first
# use, which for new ones is the order in the piece.  Strings of one record come in the order of its nodes: where that
# order differs in `self`, the piece is not absorbed, and the chunk is encoded again.
#
# `which` is the number of a dictionary: ENC_VARIABLES, ENC_LOG_TYPES or ENC_ARRAY_TYPES.  `EncMaps` of a
# piece has for each of its nodes and dictionary entries the number in `self`; it is kept for the next chunk, so that
# only new ones are looked up.  `d` is a dictionary of the piece, `to` what is extended: a dictionary, column or table
# of `self`.  `patterns` has the pattern ids of `self` by those of the piece.  Marks are the placeholders of log types;
# `core` states that strings are in the newer of two dialects, which has three marks instead of two.  `n >> 2` and
# `n >> 3` are the number of items of four or eight bytes in a buffer of `n` bytes.
#
# A table has the columns of all records with one schema (list of nodes); a column is stored as one or two arrays, `a`
# and `b` (see `_Column` of pykernel.py).  An encoded text is a word with its log type and the index of its first variable.
# The pure-Python encoder cannot be absorbed; `BlockEncoders` of series.py is the caller.

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define EXH_PREFETCH(address) __builtin_prefetch(address)
    #else
    #define EXH_PREFETCH(address) ((void)0)
    #endif
    """
    void EXH_PREFETCH(const void* address) noexcept nogil

cdef enum:
    ENC_BATCH = 32          # dictionary entries that are looked up at a time
    ENC_KEPT = 1 << 20      # bytes of a dictionary above which a piece begins with an empty one


cdef int enc_map_marks(ClpsEncoder piece, EncDictionary* d, EncBuf* marks, EncBuf* ends) except -1 nogil:
    """Append the placeholders of each log type that is new in a dictionary to `marks`, and where they end to `ends`."""
    cdef uint8_t last_mark = M_DECIMAL if piece.core else M_CLASSIC_DECIMAL
    cdef const unsigned char* p
    cdef const unsigned char* end
    cdef uint64_t length
    cdef size_t i
    for i in range(ends.n >> 3, d.count):
        p = d.data.p + (<uint64_t*>d.starts.p)[i]
        memcpy(&length, p, sizeof(length))
        p += sizeof(length)
        end = p + length
        enc_buf_room(marks, length)
        while p < end:
            if p[0] == M_ESCAPE:
                p += 1
            elif M_INTEGER <= p[0] <= last_mark:
                marks.p[marks.n] = p[0]
                marks.n += 1
            p += 1
        enc_buf_u64(ends, marks.n)
    return 0


cdef int64_t enc_map_entries(EncDictionary* to, EncDictionary* d, EncMaps* maps, int which) except -1 nogil:
    """Find or add each entry that is new in `d` in `to`, and append its number there to the map.

    Returns the bytes of the entries that `to` had already: `piece` counted them, but `to` does not grow by them.
    """
    cdef const unsigned char* texts[ENC_BATCH]
    cdef uint64_t lengths[ENC_BATCH]
    cdef uint64_t hashes[ENC_BATCH]
    cdef EncBuf* ids = &maps.entries[which]
    cdef const uint64_t* ends = <const uint64_t*>maps.ends[which].p
    cdef size_t i = ids.n >> 2, j, count, before
    cdef uint64_t slot
    cdef int64_t known = 0
    cdef uint32_t* out
    enc_buf_room(ids, (d.count - i) * sizeof(uint32_t) + 1)  # 1 more, so that `out` is not NULL without any
    out = <uint32_t*>ids.p
    while i < d.count:
        # A lookup reads anywhere in a large dictionary: prefetch a batch early.
        count = min(<size_t>ENC_BATCH, d.count - i)
        # First the hashes, then the slots of the hash table, then the strings that these refer to.
        for j in range(count):
            texts[j] = d.data.p + (<uint64_t*>d.starts.p)[i + j] + sizeof(uint64_t)
            memcpy(&lengths[j], texts[j] - sizeof(uint64_t), sizeof(uint64_t))
            hashes[j] = enc_hash_bytes(texts[j], lengths[j])
            if to.slots != NULL:
                EXH_PREFETCH(&to.slots[enc_dictionary_place(to, hashes[j])])
        if to.slots != NULL:
            for j in range(count):
                slot = to.slots[enc_dictionary_place(to, hashes[j])]
                if slot >> 32 == hashes[j] >> 32:
                    EXH_PREFETCH(to.data.p + (<uint64_t*>to.starts.p)[(slot & <uint64_t>0xFFFFFFFF) - 1])
        for j in range(count):
            before = to.count
            out[i + j] = <uint32_t>enc_dictionary_hashed_id(to, texts[j], lengths[j], hashes[j])
            if to.count == before:
                known += <int64_t>(sizeof(uint64_t) + lengths[j])
                if which != ENC_VARIABLES:  # the size of a log type counts a word for each of its placeholders
                    known += <int64_t>(sizeof(uint64_t) * (ends[i + j] - (ends[i + j - 1] if i + j else 0)))
        i += count
    ids.n = d.count * sizeof(uint32_t)
    return known


cdef int enc_map_nodes(ClpsEncoder self, ClpsEncoder piece, EncBuf* ids) except -1 nogil:
    """Find or make the nodes of `piece` in `self`, and append their numbers there to `ids`.

    Nodes that are in `ids` already were mapped with an earlier chunk; only whether they have a time is updated.
    """
    cdef EncNode* node
    cdef EncName* name
    cdef int32_t* out
    cdef int32_t parent
    cdef size_t i, before = ids.n >> 2
    enc_buf_room(ids, (piece.num_nodes - before) * sizeof(int32_t) + 1)
    out = <int32_t*>ids.p
    for i in range(piece.num_nodes):
        node = &(<EncNode*>piece.nodes.p)[i]
        if i >= before:
            name = &(<EncName*>piece.names.p)[node.name]
            parent = -1 if name.parent < 0 else out[name.parent]
            out[i] = self.node_of(parent, -1, piece.keys.p + name.key, name.key_size, node.type, NULL)
        (<EncNode*>self.nodes.p)[out[i]].has_time |= node.has_time
    ids.n = piece.num_nodes * sizeof(int32_t)
    return 0


cdef int enc_put_words(EncBuf* to, const uint64_t* words, size_t count, uint64_t base) except -1 nogil:
    """Append words to `to`, each with `base` added."""
    cdef uint64_t* out
    cdef size_t i
    enc_buf_room(to, count * sizeof(uint64_t))
    out = <uint64_t*>(to.p + to.n)
    for i in range(count):
        out[i] = words[i] + base
    to.n += count * sizeof(uint64_t)
    return 0


cdef int enc_put_deltas(EncColumn* to, const EncColumn* column, uint64_t base) except -1 nogil:
    """Append a column of differences between consecutive values to `to`, where all values are larger by `base`.

    So the differences stay the same, except the first one: it was the first value itself, and becomes the difference to
    the last value of `to`.
    """
    cdef size_t at = to.a.n
    cdef uint64_t first
    enc_buf_put(&to.a, column.a.p, column.a.n)
    if column.a.n:
        first = (<const uint64_t*>column.a.p)[0] + base - <uint64_t>to.last
        memcpy(to.a.p + at, &first, sizeof(first))
        to.last = <int64_t>(<uint64_t>column.last + base)
    return 0


cdef int enc_put_patterns(EncColumn* to, const EncColumn* column, const int64_t* patterns) except -1 nogil:
    """Append the pattern ids of a column of timestamps to `to`: `patterns[i]` instead of the piece's id `i`."""
    cdef const int64_t* ids = <const int64_t*>column.b.p
    cdef int64_t* out
    cdef size_t i
    enc_buf_room(&to.b, column.b.n)
    out = <int64_t*>(to.b.p + to.b.n)
    for i in range(column.b.n >> 3):
        out[i] = patterns[ids[i]]
    to.b.n += column.b.n
    return 0


cdef int enc_put_texts(ClpsEncoder self, EncColumn* to, const EncColumn* column, const EncMaps* maps, int which) except -1 nogil:
    """Append encoded strings: log types (`which`: ENC_LOG_TYPES or ENC_ARRAY_TYPES) and their variables."""
    cdef const uint64_t* words = <const uint64_t*>column.a.p
    cdef const uint32_t* types = <const uint32_t*>maps.entries[which].p
    cdef const uint32_t* entries = <const uint32_t*>maps.entries[ENC_VARIABLES].p
    cdef const unsigned char* marks = maps.marks[which].p
    cdef const uint64_t* ends = <const uint64_t*>maps.ends[which].p
    # The number of variables of `to` in memory, and of all, also those that were moved to a file.
    cdef uint64_t here = to.b.n >> 3, base = here + (enc_b_moved(to) >> 3)
    cdef int64_t first_id = clp_s_table_classic_variable_first_id(0)
    cdef uint64_t* out
    cdef int64_t* variable
    cdef uint64_t type, mark
    cdef size_t i
    # The variables are copied as they are; then those that are numbers of dictionary entries are translated in place.
    enc_buf_room(&to.a, column.a.n)
    enc_buf_put(&to.b, column.b.p, column.b.n)
    out = <uint64_t*>(to.a.p + to.a.n)
    for i in range(column.a.n >> 3):
        # A word has the log type in its lower bits, and above them the place of its first variable.
        type = words[i] & <uint64_t>(ENC_MAX_LOG_TYPES - 1)
        variable = <int64_t*>to.b.p + here + (words[i] >> CLP_S_TABLE_CLP_WORD_SHIFT_OFS_VARIABLE)
        out[i] = <uint64_t>types[type] | (base << CLP_S_TABLE_CLP_WORD_SHIFT_OFS_VARIABLE) + (words[i] - type)
        for mark in range(ends[type - 1] if type else 0, ends[type]):
            # The older dialect has one mark for integers and entries, whose numbers are increased by `first_id`.
            if self.core:
                if marks[mark] == M_ENTRY:
                    variable[0] = entries[variable[0]]
            elif marks[mark] == M_CLASSIC_INTEGER_OR_ENTRY and variable[0] >= first_id:
                variable[0] = first_id + entries[variable[0] - first_id]
            variable += 1
    to.a.n += column.a.n
    return 0


cdef int enc_put_column(ClpsEncoder self, EncColumn* to, const EncColumn* column, const EncMaps* maps,
                        const int64_t* patterns) except -1 nogil:
    """Append the values of a column by its type, except the column of record numbers; see `enc_put_table`."""
    cdef const uint64_t* words = <const uint64_t*>column.a.p
    cdef const uint32_t* entries = <const uint32_t*>maps.entries[ENC_VARIABLES].p
    cdef uint64_t* out
    cdef size_t i
    if column.type == N_VAR_STRING or column.type == N_DICTIONARY_FLOAT:
        enc_buf_room(&to.a, column.a.n)
        out = <uint64_t*>(to.a.p + to.a.n)
        for i in range(column.a.n >> 3):
            out[i] = entries[words[i]]
        to.a.n += column.a.n
    elif column.type == N_CLP_STRING:
        enc_put_texts(self, to, column, maps, ENC_LOG_TYPES)
    elif column.type == N_UNSTRUCTURED_ARRAY:
        enc_put_texts(self, to, column, maps, ENC_ARRAY_TYPES)
    elif column.type == N_TIMESTAMP:
        enc_put_deltas(to, column, 0)
        enc_put_patterns(to, column, patterns)
    elif column.type == N_DATE_STRING:
        enc_buf_put(&to.a, column.a.p, column.a.n)
        enc_put_patterns(to, column, patterns)
    else:
        enc_buf_put(&to.a, column.a.p, column.a.n)
        enc_buf_put(&to.b, column.b.p, column.b.n)
    return 0


cdef int enc_put_table(ClpsEncoder self, ClpsEncoder piece, size_t place, const int64_t* patterns) except -1 nogil:
    """Append the rows of table `place` of `piece` to the table of the same schema, which is added if it is new.

    A schema lists nodes: ordered ones, sorted by id, then unordered ones (inside structured arrays) with markers, which
    group them, between them.  A node has one id in `piece` and another in `self`.
    """
    cdef const EncMaps* maps = &piece.maps
    cdef EncTable* table = &(<EncTable*>piece.tables.p)[place]
    cdef const int32_t* nodes = <const int32_t*>maps.nodes.p
    cdef int32_t count = 0
    cdef const int32_t* local = piece.entries_of(place, &count)
    cdef int32_t num_ordered = local[-1]  # `entries_of` returns a pointer to the item after it
    cdef int32_t* ids
    cdef int32_t* ranks
    cdef EncTable* to
    cdef EncColumn* column
    cdef int32_t i, low, high, number, rank = 0, index = 0
    # The schema with the node ids of `self`: ordered entries are sorted, unordered ones and markers stay in place.
    # `sorted_ids`: the number of ordered entries, then all entries; `table_of` finds or adds the table for them.
    self.sorted_ids.n = 0
    enc_buf_i32(&self.sorted_ids, num_ordered)
    for i in range(count):
        enc_buf_i32(&self.sorted_ids, local[i] if clp_s_schema_ids_entry_is_marker(local[i]) else nodes[local[i]])
    qsort(self.sorted_ids.p + sizeof(int32_t), num_ordered, sizeof(int32_t), enc_compare_ids)
    number = self.table_of()
    to = &(<EncTable*>self.tables.p)[number]
    ids = <int32_t*>(self.sorted_ids.p + sizeof(int32_t))
    # `ranks`: the index of the column of each ordered entry in `self`; entries such as nulls have none.  It is in
    # `text`, which is scratch memory and not in use here.
    enc_buf_room(&self.text, (num_ordered + 1) * sizeof(int32_t))
    ranks = <int32_t*>self.text.p
    for i in range(num_ordered):
        ranks[i] = rank
        rank += self.has_column(ids[i])
    for i in range(count):
        if clp_s_schema_ids_entry_is_marker(local[i]) or not self.has_column(nodes[local[i]]):
            continue
        # `index` counts the columns of the piece.  Unordered columns have the same place in both; the number of the
        # record comes first, and continues after the records of `self`; others are searched for.
        column = &table.columns[index]
        if i >= num_ordered:
            enc_put_column(self, &to.columns[index], column, maps, patterns)
        elif index == 0 and self.log_node >= 0:
            if column.type == N_DELTA_INTEGER:
                enc_put_deltas(&to.columns[0], column, <uint64_t>self.records)
            else:
                enc_put_words(&to.columns[0].a, <uint64_t*>column.a.p, column.a.n >> 3, <uint64_t>self.records)
        else:
            low, high = 0, num_ordered  # binary search for the node in the ids of `self`
            while low < high:
                if ids[(low + high) >> 1] < nodes[local[i]]:
                    low = ((low + high) >> 1) + 1
                else:
                    high = (low + high) >> 1
            enc_put_column(self, &to.columns[ranks[low]], column, maps, patterns)
        index += 1
    to.rows += table.rows
    return 0


cdef bint enc_keeps_order(ClpsEncoder piece, const int32_t* nodes) noexcept nogil:
    """Whether the ordered columns of each table have the same order by the ids `nodes` of the other encoder.

    Only then do the strings of a record enter the dictionaries in the same order.
    """
    cdef EncTable* table
    cdef const int32_t* local
    cdef int32_t j, count = 0
    cdef size_t i
    for i in range(piece.num_tables):
        table = &(<EncTable*>piece.tables.p)[i]
        local = piece.entries_of(i, &count)
        for j in range(1, local[-1] if table.rows else 0):  # item -1 is the number of ordered entries
            if nodes[local[j - 1]] > nodes[local[j]]:
                return False
    return True


cdef bint enc_absorb(ClpsEncoder self, ClpsEncoder piece, const int64_t* patterns) except -1 nogil:
    """Append all that `piece` has encoded: nodes, dictionary entries, rows, counts and the range of times.

    Returns False, and changes nothing, if its nodes would sort differently in `self`.
    """
    cdef EncMaps* maps = &piece.maps
    cdef size_t i, num_names = self.num_names, num_nodes = self.num_nodes
    cdef int64_t known
    # The nodes, which can be undone; then the dictionary entries, the rows, and the counts.
    enc_map_nodes(self, piece, &maps.nodes)
    if not enc_keeps_order(piece, <const int32_t*>maps.nodes.p):
        self.undo(num_names, num_nodes)
        return False
    enc_map_marks(piece, &piece.log_types, &maps.marks[1], &maps.ends[1])
    enc_map_marks(piece, &piece.array_types, &maps.marks[2], &maps.ends[2])
    known = enc_map_entries(&self.variables, &piece.variables, maps, 0)
    known += enc_map_entries(&self.log_types, &piece.log_types, maps, 1)
    known += enc_map_entries(&self.array_types, &piece.array_types, maps, 2)
    for i in range(piece.num_tables):
        if (<EncTable*>piece.tables.p)[i].rows:
            enc_put_table(self, piece, i, patterns)
    self.size += piece.size - known
    self.records += piece.records
    self.losses += piece.losses
    if piece.saw_integer_time:
        self.time_min = min(self.time_min, piece.time_min) if self.saw_integer_time else piece.time_min
        self.time_max = max(self.time_max, piece.time_max) if self.saw_integer_time else piece.time_max
        self.saw_integer_time = True
    if piece.saw_float_time:
        self.float_time_min = min(self.float_time_min, piece.float_time_min) if self.saw_float_time else piece.float_time_min
        self.float_time_max = max(self.float_time_max, piece.float_time_max) if self.saw_float_time else piece.float_time_max
        self.saw_float_time = True
    return True


cdef int enc_begin_piece(ClpsEncoder piece) noexcept nogil:
    """Drop the records before the next chunk; keep the tree, the schemas and dictionaries that are small."""
    cdef EncTable* table
    cdef EncDictionary* d
    cdef size_t i
    cdef int j
    for i in range(piece.num_tables):
        table = &(<EncTable*>piece.tables.p)[i]
        table.rows = 0
        for j in range(table.num_columns):
            table.columns[j].a.n = table.columns[j].b.n = 0
            table.columns[j].last = 0
    for j in range(3):
        d = &piece.variables if j == 0 else &piece.log_types if j == 1 else &piece.array_types
        if d.data.n > ENC_KEPT:
            enc_dictionary_clear(d)
            enc_known_clear(&piece.known_log_types)  # they name entries of all dictionaries
            enc_known_clear(&piece.known_array_types)
            piece.maps.entries[j].n = piece.maps.marks[j].n = piece.maps.ends[j].n = 0
    piece.records = piece.losses = piece.size = 0
    piece.saw_integer_time = piece.saw_float_time = False
    piece.most_tokens = 0
    return 0


def clps_absorb(ClpsEncoder self not None, ClpsEncoder piece not None, patterns, int64_t target):
    """Append the records that `piece` encoded to those of `self`, after which `piece` can encode another chunk.

    `patterns` has the pattern ids of `self` by those of `piece`.  Returns False, and changes nothing:

    - if encoding the chunk might have ended the archive within it, at the `target` size or for lack of ids;
    - if nodes that were met in another order would put the strings of a record in a different order;
    - if `piece` was absorbed by an encoder other than `self` before.
    """
    cdef bint done = False
    cdef size_t most = piece.most_tokens  # `run` ends an archive before a record of so many tokens might lack ids
    cdef bytes numbers = array("q", patterns).tobytes()
    cdef const int64_t* ids = <const int64_t*>bytes_text(numbers)
    if self.size + piece.size >= target \
            or self.exceeds(self.variables.data.n + piece.variables.data.n, self.log_types.data.n + piece.log_types.data.n,
                            self.array_types.data.n + piece.array_types.data.n, self.num_nodes + piece.num_nodes) \
            or self.num_nodes + piece.num_nodes + most >= ENC_MAX_NODES \
            or self.log_types.count + piece.log_types.count + most >= ENC_MAX_LOG_TYPES \
            or self.array_types.count + piece.array_types.count + most >= ENC_MAX_LOG_TYPES \
            or not (piece.taken_by is None or piece.taken_by is self):
        return False
    if self.busy or piece.busy or self is piece:
        raise RuntimeError("one encoder serves one thread at a time")
    piece.taken_by = self
    self.busy = piece.busy = True
    try:
        with nogil:
            done = enc_absorb(self, piece, ids)
            if done:
                enc_begin_piece(piece)
    finally:
        self.busy = piece.busy = False
    return done
