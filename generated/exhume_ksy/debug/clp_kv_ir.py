# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpKvIr(KaitaiStruct):
    """Structured log events as loggers write them, before they are compressed into
    an archive: a preamble, then tokens to the end. Such a stream is usually
    stored in Zstandard frames (`.clp.zst`).
    
    Tokens make up consecutive units:
    
    - a key is declared: a `node_` token with its type, the `parent_` token of
      the object that contains it, and the `text_` token of its name. The keys
      that a logger adds itself and those of its user make up two trees; in each
      the root is node 0 and the others are numbered in the order of their
      declarations;
    - a log event: pairs of a `key_` token of the first tree and a value, then
      `key_` tokens of the second tree, then as many values. `empty_object`
      stands for the latter two where an event has no user's keys;
    - a change of the offset from UTC that the logger writes in;
    - the end of the stream.
    
    A value is one token, or, after `four_byte_encoding` or `eight_byte_encoding`,
    an encoded text: variables, and a `log_type_` token that states where they
    are.
    
    .. seealso::
       Source - https://github.com/y-scope/clp/tree/main/components/core/src/clp/ffi/ir_stream
    """

    class Encodings(IntEnum):
        four_byte = 41
        eight_byte = 48

    class Marks(IntEnum):
        integer = 17
        text = 18
        decimal = 19
        escape = 92

    class MetadataLengths(IntEnum):
        one_byte = 17
        two_bytes = 18

    class MetadataTypes(IntEnum):
        json = 1

    class Tags(IntEnum):
        end_of_stream = 0
        variable_text_1 = 17
        variable_text_2 = 18
        variable_text_4 = 19
        variable_4 = 24
        variable_8 = 25
        log_type_1 = 33
        log_type_2 = 34
        log_type_4 = 35
        utc_offset_change = 63
        text_1 = 65
        text_2 = 66
        text_4 = 67
        integer_1 = 81
        integer_2 = 82
        integer_4 = 83
        integer_8 = 84
        real = 86
        true_value = 87
        false_value = 88
        four_byte_encoding = 89
        eight_byte_encoding = 90
        empty_object = 94
        null_value = 95
        parent_1 = 96
        parent_2 = 97
        parent_4 = 98
        key_1 = 101
        key_2 = 102
        key_4 = 103
        node_integer = 113
        node_real = 114
        node_boolean = 115
        node_text = 116
        node_array = 117
        node_object = 118
    SEQ_FIELDS = ["head", "body"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpKvIr, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['head']['start'] = self._io.pos()
        self.head = ClpKvIr.Preamble(self._io, self, self._root)
        self.head._read()
        self._debug['head']['end'] = self._io.pos()
        self._debug['body']['start'] = self._io.pos()
        self.body = ClpKvIr.Units(self._io, self, self._root)
        self.body._read()
        self._debug['body']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.head._fetch_instances()
        self.body._fetch_instances()

    class Decimal4(KaitaiStruct):
        """What `variable_4` holds at a mark for decimal fractions: how many digits
        there are, the position of the point, the digits and the sign.
        """
        SEQ_FIELDS = ["word"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpKvIr.Decimal4, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['word']['start'] = self._io.pos()
            self.word = self._io.read_u4be()
            self._debug['word']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def digits(self):
            """As one number, without the point."""
            if hasattr(self, '_m_digits'):
                return self._m_digits

            self._m_digits = (self.word // 64) % 33554432
            return getattr(self, '_m_digits', None)

        @property
        def num_digits(self):
            if hasattr(self, '_m_num_digits'):
                return self._m_num_digits

            self._m_num_digits = (self.word // 8) % 8 + 1
            return getattr(self, '_m_num_digits', None)

        @property
        def num_fraction_digits(self):
            """Digits after the point."""
            if hasattr(self, '_m_num_fraction_digits'):
                return self._m_num_fraction_digits

            self._m_num_fraction_digits = self.word % 8 + 1
            return getattr(self, '_m_num_fraction_digits', None)

        @property
        def sign(self):
            """1 if a minus sign precedes the digits."""
            if hasattr(self, '_m_sign'):
                return self._m_sign

            self._m_sign = self.word // 2147483648
            return getattr(self, '_m_sign', None)


    class Decimal8(KaitaiStruct):
        """The same of `variable_8`."""
        SEQ_FIELDS = ["word"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpKvIr.Decimal8, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['word']['start'] = self._io.pos()
            self.word = self._io.read_u8be()
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


    class LogTypeByte(KaitaiStruct):
        """A byte of a log type that is not text."""
        SEQ_FIELDS = ["mark"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpKvIr.LogTypeByte, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['mark']['start'] = self._io.pos()
            self.mark = KaitaiStream.resolve_enum(ClpKvIr.Marks, self._io.read_u1())
            self._debug['mark']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Preamble(KaitaiStruct):
        """What the stream is, and the metadata."""
        SEQ_FIELDS = ["magic_start", "encoding", "metadata_type", "metadata_length", "len_metadata1", "len_metadata2", "metadata"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpKvIr.Preamble, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['magic_start']['start'] = self._io.pos()
            self.magic_start = self._io.read_bytes(3)
            self._debug['magic_start']['end'] = self._io.pos()
            if not self.magic_start == b"\xFD\x2F\xB5":
                raise kaitaistruct.ValidationNotEqualError(b"\xFD\x2F\xB5", self.magic_start, self._io, u"/types/preamble/seq/0")
            self._debug['encoding']['start'] = self._io.pos()
            self.encoding = KaitaiStream.resolve_enum(ClpKvIr.Encodings, self._io.read_u1())
            self._debug['encoding']['end'] = self._io.pos()
            if not isinstance(self.encoding, ClpKvIr.Encodings):
                raise kaitaistruct.ValidationNotInEnumError(self.encoding, self._io, u"/types/preamble/seq/1")
            self._debug['metadata_type']['start'] = self._io.pos()
            self.metadata_type = KaitaiStream.resolve_enum(ClpKvIr.MetadataTypes, self._io.read_u1())
            self._debug['metadata_type']['end'] = self._io.pos()
            if not isinstance(self.metadata_type, ClpKvIr.MetadataTypes):
                raise kaitaistruct.ValidationNotInEnumError(self.metadata_type, self._io, u"/types/preamble/seq/2")
            self._debug['metadata_length']['start'] = self._io.pos()
            self.metadata_length = KaitaiStream.resolve_enum(ClpKvIr.MetadataLengths, self._io.read_u1())
            self._debug['metadata_length']['end'] = self._io.pos()
            if not isinstance(self.metadata_length, ClpKvIr.MetadataLengths):
                raise kaitaistruct.ValidationNotInEnumError(self.metadata_length, self._io, u"/types/preamble/seq/3")
            if self.metadata_length == ClpKvIr.MetadataLengths.one_byte:
                pass
                self._debug['len_metadata1']['start'] = self._io.pos()
                self.len_metadata1 = self._io.read_u1()
                self._debug['len_metadata1']['end'] = self._io.pos()

            if self.metadata_length == ClpKvIr.MetadataLengths.two_bytes:
                pass
                self._debug['len_metadata2']['start'] = self._io.pos()
                self.len_metadata2 = self._io.read_u2be()
                self._debug['len_metadata2']['end'] = self._io.pos()
                if not self.len_metadata2 <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_metadata2, self._io, u"/types/preamble/seq/5")

            self._debug['metadata']['start'] = self._io.pos()
            self.metadata = self._io.read_bytes((self.len_metadata1 if self.metadata_length == ClpKvIr.MetadataLengths.one_byte else self.len_metadata2))
            self._debug['metadata']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            if self.metadata_length == ClpKvIr.MetadataLengths.one_byte:
                pass

            if self.metadata_length == ClpKvIr.MetadataLengths.two_bytes:
                pass



    class Token(KaitaiStruct):
        """One byte that says what this is, and a number or bytes."""
        SEQ_FIELDS = ["tag", "number1", "number2", "number4", "number8", "real", "len_text1", "len_text2", "len_text4", "text"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpKvIr.Token, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tag']['start'] = self._io.pos()
            self.tag = KaitaiStream.resolve_enum(ClpKvIr.Tags, self._io.read_u1())
            self._debug['tag']['end'] = self._io.pos()
            if not isinstance(self.tag, ClpKvIr.Tags):
                raise kaitaistruct.ValidationNotInEnumError(self.tag, self._io, u"/types/token/seq/0")
            if  ((self.tag == ClpKvIr.Tags.key_1) or (self.tag == ClpKvIr.Tags.parent_1) or (self.tag == ClpKvIr.Tags.integer_1)) :
                pass
                self._debug['number1']['start'] = self._io.pos()
                self.number1 = self._io.read_s1()
                self._debug['number1']['end'] = self._io.pos()

            if  ((self.tag == ClpKvIr.Tags.key_2) or (self.tag == ClpKvIr.Tags.parent_2) or (self.tag == ClpKvIr.Tags.integer_2)) :
                pass
                self._debug['number2']['start'] = self._io.pos()
                self.number2 = self._io.read_s2be()
                self._debug['number2']['end'] = self._io.pos()

            if  ((self.tag == ClpKvIr.Tags.key_4) or (self.tag == ClpKvIr.Tags.parent_4) or (self.tag == ClpKvIr.Tags.integer_4) or (self.tag == ClpKvIr.Tags.variable_4)) :
                pass
                self._debug['number4']['start'] = self._io.pos()
                self.number4 = self._io.read_s4be()
                self._debug['number4']['end'] = self._io.pos()

            if  ((self.tag == ClpKvIr.Tags.integer_8) or (self.tag == ClpKvIr.Tags.variable_8) or (self.tag == ClpKvIr.Tags.utc_offset_change)) :
                pass
                self._debug['number8']['start'] = self._io.pos()
                self.number8 = self._io.read_s8be()
                self._debug['number8']['end'] = self._io.pos()

            if self.tag == ClpKvIr.Tags.real:
                pass
                self._debug['real']['start'] = self._io.pos()
                self.real = self._io.read_f8be()
                self._debug['real']['end'] = self._io.pos()

            if  ((self.tag == ClpKvIr.Tags.text_1) or (self.tag == ClpKvIr.Tags.variable_text_1) or (self.tag == ClpKvIr.Tags.log_type_1)) :
                pass
                self._debug['len_text1']['start'] = self._io.pos()
                self.len_text1 = self._io.read_u1()
                self._debug['len_text1']['end'] = self._io.pos()
                if not self.len_text1 <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_text1, self._io, u"/types/token/seq/6")

            if  ((self.tag == ClpKvIr.Tags.text_2) or (self.tag == ClpKvIr.Tags.variable_text_2) or (self.tag == ClpKvIr.Tags.log_type_2)) :
                pass
                self._debug['len_text2']['start'] = self._io.pos()
                self.len_text2 = self._io.read_u2be()
                self._debug['len_text2']['end'] = self._io.pos()
                if not self.len_text2 <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_text2, self._io, u"/types/token/seq/7")

            if  ((self.tag == ClpKvIr.Tags.text_4) or (self.tag == ClpKvIr.Tags.variable_text_4) or (self.tag == ClpKvIr.Tags.log_type_4)) :
                pass
                self._debug['len_text4']['start'] = self._io.pos()
                self.len_text4 = self._io.read_u4be()
                self._debug['len_text4']['end'] = self._io.pos()
                if not self.len_text4 <= (self._io.size() - self._io.pos()):
                    raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_text4, self._io, u"/types/token/seq/8")

            if  ((self.has_text1) or (self.has_text2) or (self.has_text4)) :
                pass
                self._debug['text']['start'] = self._io.pos()
                self.text = self._io.read_bytes((self.len_text1 if self.has_text1 else (self.len_text2 if self.has_text2 else self.len_text4)))
                self._debug['text']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if  ((self.tag == ClpKvIr.Tags.key_1) or (self.tag == ClpKvIr.Tags.parent_1) or (self.tag == ClpKvIr.Tags.integer_1)) :
                pass

            if  ((self.tag == ClpKvIr.Tags.key_2) or (self.tag == ClpKvIr.Tags.parent_2) or (self.tag == ClpKvIr.Tags.integer_2)) :
                pass

            if  ((self.tag == ClpKvIr.Tags.key_4) or (self.tag == ClpKvIr.Tags.parent_4) or (self.tag == ClpKvIr.Tags.integer_4) or (self.tag == ClpKvIr.Tags.variable_4)) :
                pass

            if  ((self.tag == ClpKvIr.Tags.integer_8) or (self.tag == ClpKvIr.Tags.variable_8) or (self.tag == ClpKvIr.Tags.utc_offset_change)) :
                pass

            if self.tag == ClpKvIr.Tags.real:
                pass

            if  ((self.tag == ClpKvIr.Tags.text_1) or (self.tag == ClpKvIr.Tags.variable_text_1) or (self.tag == ClpKvIr.Tags.log_type_1)) :
                pass

            if  ((self.tag == ClpKvIr.Tags.text_2) or (self.tag == ClpKvIr.Tags.variable_text_2) or (self.tag == ClpKvIr.Tags.log_type_2)) :
                pass

            if  ((self.tag == ClpKvIr.Tags.text_4) or (self.tag == ClpKvIr.Tags.variable_text_4) or (self.tag == ClpKvIr.Tags.log_type_4)) :
                pass

            if  ((self.has_text1) or (self.has_text2) or (self.has_text4)) :
                pass


        @property
        def has_text1(self):
            if hasattr(self, '_m_has_text1'):
                return self._m_has_text1

            self._m_has_text1 =  ((self.tag == ClpKvIr.Tags.text_1) or (self.tag == ClpKvIr.Tags.variable_text_1) or (self.tag == ClpKvIr.Tags.log_type_1)) 
            return getattr(self, '_m_has_text1', None)

        @property
        def has_text2(self):
            if hasattr(self, '_m_has_text2'):
                return self._m_has_text2

            self._m_has_text2 =  ((self.tag == ClpKvIr.Tags.text_2) or (self.tag == ClpKvIr.Tags.variable_text_2) or (self.tag == ClpKvIr.Tags.log_type_2)) 
            return getattr(self, '_m_has_text2', None)

        @property
        def has_text4(self):
            if hasattr(self, '_m_has_text4'):
                return self._m_has_text4

            self._m_has_text4 =  ((self.tag == ClpKvIr.Tags.text_4) or (self.tag == ClpKvIr.Tags.variable_text_4) or (self.tag == ClpKvIr.Tags.log_type_4)) 
            return getattr(self, '_m_has_text4', None)


    class Units(KaitaiStruct):
        """Tokens to the one that ends the stream, or as far as there are any."""
        SEQ_FIELDS = ["tokens"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpKvIr.Units, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tokens']['start'] = self._io.pos()
            self._debug['tokens']['arr'] = []
            self.tokens = []
            if not self._io.passes(self, 'tokens', lambda i, io: ClpKvIr.Token(io, self, self._root), until=lambda _, io: ((_.tag == ClpKvIr.Tags.end_of_stream) or (io.is_eof()))):
                i = 0
                while True:
                    self._debug['tokens']['arr'].append({'start': self._io.pos()})
                    _t_tokens = ClpKvIr.Token(self._io, self, self._root)
                    try:
                        _t_tokens._read()
                    finally:
                        _ = _t_tokens
                        self.tokens.append(_)
                    self._debug['tokens']['arr'][len(self.tokens) - 1]['end'] = self._io.pos()
                    if  ((_.tag == ClpKvIr.Tags.end_of_stream) or (self._io.is_eof())) :
                        break
                    i += 1
            self._debug['tokens']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.tokens)):
                pass
                self.tokens[i]._fetch_instances()




