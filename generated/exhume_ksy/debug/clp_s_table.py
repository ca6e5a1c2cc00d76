# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSTable(KaitaiStruct):
    """The columns of one table, end to end. The bytes do not state which columns
    there are or how long they are: the caller passes the row count from
    the table metadata and the node types from the schema.
    
    .. seealso::
       ColumnWriter - https://github.com/y-scope/clp/tree/main/components/core/src/clp_s
    """

    class ExponentSign(IntEnum):
        none = 0
        plus = 1
        minus = 2
        reserved = 3

    class FloatNotation(IntEnum):
        plain = 0
        lower_exponent = 1
        reserved = 2
        upper_exponent = 3
    SEQ_FIELDS = ["columns"]
    def __init__(self, num_messages, node_types, _io, _parent=None, _root=None):
        super(ClpSTable, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self.num_messages = num_messages
        self.node_types = node_types
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['columns']['start'] = self._io.pos()
        self._debug['columns']['arr'] = []
        self.columns = []
        for i in range(self.num_columns):
            self._debug['columns']['arr'].append({'start': self._io.pos()})
            _on = self.node_types[i]
            if _on == 0:
                pass
                _t_columns = ClpSTable.IntegerColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 1:
                pass
                _t_columns = ClpSTable.FloatColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 11:
                pass
                _t_columns = ClpSTable.IntegerColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 12:
                pass
                _t_columns = ClpSTable.FormattedFloatColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 13:
                pass
                _t_columns = ClpSTable.IdColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 14:
                pass
                _t_columns = ClpSTable.TimestampColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 2:
                pass
                _t_columns = ClpSTable.ClpColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 3:
                pass
                _t_columns = ClpSTable.IdColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 4:
                pass
                _t_columns = ClpSTable.BooleanColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 6:
                pass
                _t_columns = ClpSTable.ClpColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            elif _on == 8:
                pass
                _t_columns = ClpSTable.DateColumn(self.num_messages, self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            else:
                pass
                _t_columns = ClpSTable.UnknownColumn(self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
            self._debug['columns']['arr'][i]['end'] = self._io.pos()

        self._debug['columns']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.columns)):
            pass
            _on = self.node_types[i]
            if _on == 0:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 1:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 11:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 12:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 13:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 14:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 2:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 3:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 4:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 6:
                pass
                self.columns[i]._fetch_instances()
            elif _on == 8:
                pass
                self.columns[i]._fetch_instances()
            else:
                pass
                self.columns[i]._fetch_instances()


    class BooleanColumn(KaitaiStruct):
        """One byte each; anything but 0 is true."""
        SEQ_FIELDS = ["values"]
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(ClpSTable.BooleanColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['values']['start'] = self._io.pos()
            self.values = self._io.read_bytes(self.num_values)
            self._debug['values']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class ClassicDecimalVariable(KaitaiStruct):
        """The same as before 0.4.0."""
        SEQ_FIELDS = ["word"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTable.ClassicDecimalVariable, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['word']['start'] = self._io.pos()
            self.word = self._io.read_u8le()
            self._debug['word']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def digits(self):
            """As one number, without the point."""
            if hasattr(self, '_m_digits'):
                return self._m_digits

            self._m_digits = (self.word % 18014398509481984)
            return getattr(self, '_m_digits', None)

        @property
        def num_digits(self):
            if hasattr(self, '_m_num_digits'):
                return self._m_num_digits

            self._m_num_digits = (self.word // 576460752303423488) % 16 + 1
            return getattr(self, '_m_num_digits', None)

        @property
        def num_fraction_digits(self):
            """Digits after the point."""
            if hasattr(self, '_m_num_fraction_digits'):
                return self._m_num_fraction_digits

            self._m_num_fraction_digits = (self.word // 36028797018963968) % 16 + 1
            return getattr(self, '_m_num_fraction_digits', None)

        @property
        def sign(self):
            """1 if a minus sign precedes the digits."""
            if hasattr(self, '_m_sign'):
                return self._m_sign

            self._m_sign = (self.word // 4611686018427387904) // 2
            return getattr(self, '_m_sign', None)


    class ClassicVariable(KaitaiStruct):
        """What the variable at the other mark holds before 0.4.0: an integer, or a
        position in the variable dictionary.
        """
        SEQ_FIELDS = ["value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTable.ClassicVariable, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_s8le()
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def dictionary_id(self):
            """The position, where it is one."""
            if hasattr(self, '_m_dictionary_id'):
                return self._m_dictionary_id

            self._m_dictionary_id = self.value - self.first_id
            return getattr(self, '_m_dictionary_id', None)

        @property
        def first_id(self):
            """Stands for position 0; integers are below it."""
            if hasattr(self, '_m_first_id'):
                return self._m_first_id

            self._m_first_id = 4611686018427387904
            return getattr(self, '_m_first_id', None)

        @property
        def is_id(self):
            if hasattr(self, '_m_is_id'):
                return self._m_is_id

            self._m_is_id =  ((self.value >= self.first_id) and (self.value != 9223372036854775807)) 
            return getattr(self, '_m_is_id', None)


    class ClpColumn(KaitaiStruct):
        """Encoded text: which log type each row has and where its variables start,
        then the variables of all rows.
        """
        SEQ_FIELDS = ["rows", "num_variables", "variables"]
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(ClpSTable.ClpColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['rows']['start'] = self._io.pos()
            self._debug['rows']['arr'] = []
            self.rows = []
            if not self._io.passes(self, 'rows', lambda i, io: ClpSTable.ClpWord(io, self, self._root), times=self.num_values):
                for i in range(self.num_values):
                    self._debug['rows']['arr'].append({'start': self._io.pos()})
                    _t_rows = ClpSTable.ClpWord(self._io, self, self._root)
                    try:
                        _t_rows._read()
                    finally:
                        self.rows.append(_t_rows)
                    self._debug['rows']['arr'][i]['end'] = self._io.pos()

            self._debug['rows']['end'] = self._io.pos()
            self._debug['num_variables']['start'] = self._io.pos()
            self.num_variables = self._io.read_u8le()
            self._debug['num_variables']['end'] = self._io.pos()
            if not self.num_variables <= ((self._io.size() - self._io.pos()) // 8):
                raise kaitaistruct.ValidationGreaterThanError(((self._io.size() - self._io.pos()) // 8), self.num_variables, self._io, u"/types/clp_column/seq/1")
            self._debug['variables']['start'] = self._io.pos()
            self._debug['variables']['arr'] = []
            self.variables = []
            if not self._io.passes(self, 'variables', lambda i, io: io.read_s8le(), width=8, times=self.num_variables):
                for i in range(self.num_variables):
                    self._debug['variables']['arr'].append({'start': self._io.pos()})
                    self.variables.append(self._io.read_s8le())
                    self._debug['variables']['arr'][i]['end'] = self._io.pos()

            self._debug['variables']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.rows)):
                pass
                self.rows[i]._fetch_instances()

            for i in range(len(self.variables)):
                pass



    class ClpWord(KaitaiStruct):
        """Log type and position of the first variable, in one word."""
        SEQ_FIELDS = ["word"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTable.ClpWord, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['word']['start'] = self._io.pos()
            self.word = self._io.read_u8le()
            self._debug['word']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def log_type_id(self):
            """Position of the log type in its dictionary."""
            if hasattr(self, '_m_log_type_id'):
                return self._m_log_type_id

            self._m_log_type_id = self.word % 16777216
            return getattr(self, '_m_log_type_id', None)

        @property
        def ofs_variable(self):
            """Index into the variables of the column."""
            if hasattr(self, '_m_ofs_variable'):
                return self._m_ofs_variable

            self._m_ofs_variable = (self.word // 16777216)
            return getattr(self, '_m_ofs_variable', None)


    class DateColumn(KaitaiStruct):
        """Epochs, then the pattern of each."""
        SEQ_FIELDS = ["epochs", "pattern_ids"]
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(ClpSTable.DateColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['epochs']['start'] = self._io.pos()
            self._debug['epochs']['arr'] = []
            self.epochs = []
            if not self._io.passes(self, 'epochs', lambda i, io: io.read_s8le(), width=8, times=self.num_values):
                for i in range(self.num_values):
                    self._debug['epochs']['arr'].append({'start': self._io.pos()})
                    self.epochs.append(self._io.read_s8le())
                    self._debug['epochs']['arr'][i]['end'] = self._io.pos()

            self._debug['epochs']['end'] = self._io.pos()
            self._debug['pattern_ids']['start'] = self._io.pos()
            self._debug['pattern_ids']['arr'] = []
            self.pattern_ids = []
            if not self._io.passes(self, 'pattern_ids', lambda i, io: io.read_s8le(), width=8, times=self.num_values):
                for i in range(self.num_values):
                    self._debug['pattern_ids']['arr'].append({'start': self._io.pos()})
                    self.pattern_ids.append(self._io.read_s8le())
                    self._debug['pattern_ids']['arr'][i]['end'] = self._io.pos()

            self._debug['pattern_ids']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.epochs)):
                pass

            for i in range(len(self.pattern_ids)):
                pass



    class DecimalVariable(KaitaiStruct):
        """What the variable at a mark for decimal fractions holds, from 0.4.0 on:
        number of digits, position of the point, the digits and the sign.
        """
        SEQ_FIELDS = ["word"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTable.DecimalVariable, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['word']['start'] = self._io.pos()
            self.word = self._io.read_u8le()
            self._debug['word']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def digits(self):
            """As one number, without the point."""
            if hasattr(self, '_m_digits'):
                return self._m_digits

            self._m_digits = ((self.word // 256) % 18014398509481984)
            return getattr(self, '_m_digits', None)

        @property
        def num_digits(self):
            if hasattr(self, '_m_num_digits'):
                return self._m_num_digits

            self._m_num_digits = (self.word // 16) % 16 + 1
            return getattr(self, '_m_num_digits', None)

        @property
        def num_fraction_digits(self):
            """Digits after the point."""
            if hasattr(self, '_m_num_fraction_digits'):
                return self._m_num_fraction_digits

            self._m_num_fraction_digits = self.word % 16 + 1
            return getattr(self, '_m_num_fraction_digits', None)

        @property
        def sign(self):
            """1 if a minus sign precedes the digits."""
            if hasattr(self, '_m_sign'):
                return self._m_sign

            self._m_sign = (self.word // 4611686018427387904) // 2
            return getattr(self, '_m_sign', None)


    class FloatColumn(KaitaiStruct):
        """Binary64 numbers."""
        SEQ_FIELDS = ["values"]
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(ClpSTable.FloatColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['values']['start'] = self._io.pos()
            self._debug['values']['arr'] = []
            self.values = []
            if not self._io.passes(self, 'values', lambda i, io: io.read_f8le(), width=8, times=self.num_values):
                for i in range(self.num_values):
                    self._debug['values']['arr'].append({'start': self._io.pos()})
                    self.values.append(self._io.read_f8le())
                    self._debug['values']['arr'][i]['end'] = self._io.pos()

            self._debug['values']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.values)):
                pass



    class FloatFormat(KaitaiStruct):
        """How a number was written."""
        SEQ_FIELDS = ["word"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTable.FloatFormat, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['word']['start'] = self._io.pos()
            self.word = self._io.read_u2le()
            self._debug['word']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def exponent_sign(self):
            """The sign between that letter and the digits of the exponent."""
            if hasattr(self, '_m_exponent_sign'):
                return self._m_exponent_sign

            self._m_exponent_sign = KaitaiStream.resolve_enum(ClpSTable.ExponentSign, (self.word // 4096) % 4)
            return getattr(self, '_m_exponent_sign', None)

        @property
        def notation(self):
            """With an exponent, and which letter starts it, or without."""
            if hasattr(self, '_m_notation'):
                return self._m_notation

            self._m_notation = KaitaiStream.resolve_enum(ClpSTable.FloatNotation, (self.word // 16384))
            return getattr(self, '_m_notation', None)

        @property
        def num_exponent_digits(self):
            if hasattr(self, '_m_num_exponent_digits'):
                return self._m_num_exponent_digits

            self._m_num_exponent_digits = (self.word // 1024) % 4 + 1
            return getattr(self, '_m_num_exponent_digits', None)

        @property
        def num_significant_digits(self):
            if hasattr(self, '_m_num_significant_digits'):
                return self._m_num_significant_digits

            self._m_num_significant_digits = (self.word // 32) % 32 + 1
            return getattr(self, '_m_num_significant_digits', None)


    class FormattedFloatColumn(KaitaiStruct):
        """Binary64 numbers, then the format of each."""
        SEQ_FIELDS = ["values", "formats"]
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(ClpSTable.FormattedFloatColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['values']['start'] = self._io.pos()
            self._debug['values']['arr'] = []
            self.values = []
            if not self._io.passes(self, 'values', lambda i, io: io.read_f8le(), width=8, times=self.num_values):
                for i in range(self.num_values):
                    self._debug['values']['arr'].append({'start': self._io.pos()})
                    self.values.append(self._io.read_f8le())
                    self._debug['values']['arr'][i]['end'] = self._io.pos()

            self._debug['values']['end'] = self._io.pos()
            self._debug['formats']['start'] = self._io.pos()
            self._debug['formats']['arr'] = []
            self.formats = []
            if not self._io.passes(self, 'formats', lambda i, io: ClpSTable.FloatFormat(io, self, self._root), times=self.num_values):
                for i in range(self.num_values):
                    self._debug['formats']['arr'].append({'start': self._io.pos()})
                    _t_formats = ClpSTable.FloatFormat(self._io, self, self._root)
                    try:
                        _t_formats._read()
                    finally:
                        self.formats.append(_t_formats)
                    self._debug['formats']['arr'][i]['end'] = self._io.pos()

            self._debug['formats']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.values)):
                pass

            for i in range(len(self.formats)):
                pass
                self.formats[i]._fetch_instances()



    class IdColumn(KaitaiStruct):
        """Positions in the variable dictionary."""
        SEQ_FIELDS = ["values"]
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(ClpSTable.IdColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['values']['start'] = self._io.pos()
            self._debug['values']['arr'] = []
            self.values = []
            if not self._io.passes(self, 'values', lambda i, io: io.read_u8le(), width=8, times=self.num_values):
                for i in range(self.num_values):
                    self._debug['values']['arr'].append({'start': self._io.pos()})
                    self.values.append(self._io.read_u8le())
                    self._debug['values']['arr'][i]['end'] = self._io.pos()

            self._debug['values']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.values)):
                pass



    class IntegerColumn(KaitaiStruct):
        """Integers, or for node type 11 the first integer and then the difference
        to the row before, modulo 2^64.
        """
        SEQ_FIELDS = ["values"]
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(ClpSTable.IntegerColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['values']['start'] = self._io.pos()
            self._debug['values']['arr'] = []
            self.values = []
            if not self._io.passes(self, 'values', lambda i, io: io.read_s8le(), width=8, times=self.num_values):
                for i in range(self.num_values):
                    self._debug['values']['arr'].append({'start': self._io.pos()})
                    self.values.append(self._io.read_s8le())
                    self._debug['values']['arr'][i]['end'] = self._io.pos()

            self._debug['values']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.values)):
                pass



    class TimestampColumn(KaitaiStruct):
        """Nanoseconds as differences to the row before, then the patterns."""
        SEQ_FIELDS = ["deltas", "pattern_ids"]
        def __init__(self, num_values, _io, _parent=None, _root=None):
            super(ClpSTable.TimestampColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.num_values = num_values
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['deltas']['start'] = self._io.pos()
            self._debug['deltas']['arr'] = []
            self.deltas = []
            if not self._io.passes(self, 'deltas', lambda i, io: io.read_s8le(), width=8, times=self.num_values):
                for i in range(self.num_values):
                    self._debug['deltas']['arr'].append({'start': self._io.pos()})
                    self.deltas.append(self._io.read_s8le())
                    self._debug['deltas']['arr'][i]['end'] = self._io.pos()

            self._debug['deltas']['end'] = self._io.pos()
            self._debug['pattern_ids']['start'] = self._io.pos()
            self._debug['pattern_ids']['arr'] = []
            self.pattern_ids = []
            if not self._io.passes(self, 'pattern_ids', lambda i, io: io.read_u8le(), width=8, times=self.num_values):
                for i in range(self.num_values):
                    self._debug['pattern_ids']['arr'].append({'start': self._io.pos()})
                    self.pattern_ids.append(self._io.read_u8le())
                    self._debug['pattern_ids']['arr'][i]['end'] = self._io.pos()

            self._debug['pattern_ids']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.deltas)):
                pass

            for i in range(len(self.pattern_ids)):
                pass



    class UnknownColumn(KaitaiStruct):
        """A node type that stores nothing, as far as is known."""
        SEQ_FIELDS = []
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTable.UnknownColumn, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass


    @property
    def num_columns(self):
        if hasattr(self, '_m_num_columns'):
            return self._m_num_columns

        self._m_num_columns = len(self.node_types)
        return getattr(self, '_m_num_columns', None)


