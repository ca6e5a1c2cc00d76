# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import clp_kv_ir
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpIr(KaitaiStruct):
    """Log messages with timestamps as CLP's loggers write them, before they are
    compressed into an archive: a preamble, then tokens to the end. Mostly such a
    stream is inside Zstandard frames (`.clp.zst`). This is the format that
    precedes key-value pair IR streams (clp_kv_ir.ksy), which begin with the same
    preamble; the `VERSION` in the metadata distinguishes them.
    
    Tokens make up consecutive units:
    
    - a log event: the variables of its message, the `log_type_` token that says
      where they are, and a token with the time;
    - a change of the offset from UTC that the logger writes in;
    - the end of the stream.
    
    Variables have four bytes or eight, as the preamble says. Streams with four
    bytes hold the time of an event as the milliseconds since the event before
    (`delta_`), and for the first one since `REFERENCE_TIMESTAMP` in the metadata.
    Streams with eight bytes hold milliseconds since the epoch (`timestamp`).
    
    .. seealso::
       Source - https://github.com/y-scope/clp/tree/main/components/core/src/clp/ffi/ir_stream
    """

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
        timestamp = 48
        delta_1 = 49
        delta_2 = 50
        delta_4 = 51
        delta_8 = 52
        utc_offset_change = 63
    SEQ_FIELDS = ["head", "body"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpIr, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['head']['start'] = self._io.pos()
        self.head = clp_kv_ir.ClpKvIr.Preamble(self._io)
        self.head._read()
        self._debug['head']['end'] = self._io.pos()
        self._debug['body']['start'] = self._io.pos()
        self.body = ClpIr.Units(self._io, self, self._root)
        self.body._read()
        self._debug['body']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.head._fetch_instances()
        self.body._fetch_instances()

    class Token(KaitaiStruct):
        """One byte that says what this is, and a number or bytes."""
        SEQ_FIELDS = ["tag", "number1", "number2", "number4", "number8", "len_text1", "len_text2", "len_text4", "text"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpIr.Token, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tag']['start'] = self._io.pos()
            self.tag = KaitaiStream.resolve_enum(ClpIr.Tags, self._io.read_u1())
            self._debug['tag']['end'] = self._io.pos()
            if not isinstance(self.tag, ClpIr.Tags):
                raise kaitaistruct.ValidationNotInEnumError(self.tag, self._io, u"/types/token/seq/0")
            if self.tag == ClpIr.Tags.delta_1:
                pass
                self._debug['number1']['start'] = self._io.pos()
                self.number1 = self._io.read_s1()
                self._debug['number1']['end'] = self._io.pos()

            if self.tag == ClpIr.Tags.delta_2:
                pass
                self._debug['number2']['start'] = self._io.pos()
                self.number2 = self._io.read_s2be()
                self._debug['number2']['end'] = self._io.pos()

            if  ((self.tag == ClpIr.Tags.delta_4) or (self.tag == ClpIr.Tags.variable_4)) :
                pass
                self._debug['number4']['start'] = self._io.pos()
                self.number4 = self._io.read_s4be()
                self._debug['number4']['end'] = self._io.pos()

            if  ((self.tag == ClpIr.Tags.delta_8) or (self.tag == ClpIr.Tags.variable_8) or (self.tag == ClpIr.Tags.timestamp) or (self.tag == ClpIr.Tags.utc_offset_change)) :
                pass
                self._debug['number8']['start'] = self._io.pos()
                self.number8 = self._io.read_s8be()
                self._debug['number8']['end'] = self._io.pos()

            if  ((self.tag == ClpIr.Tags.variable_text_1) or (self.tag == ClpIr.Tags.log_type_1)) :
                pass
                self._debug['len_text1']['start'] = self._io.pos()
                self.len_text1 = self._io.read_u1()
                self._debug['len_text1']['end'] = self._io.pos()
                if not self.len_text1 <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_text1, self._io, u"/types/token/seq/5")

            if  ((self.tag == ClpIr.Tags.variable_text_2) or (self.tag == ClpIr.Tags.log_type_2)) :
                pass
                self._debug['len_text2']['start'] = self._io.pos()
                self.len_text2 = self._io.read_u2be()
                self._debug['len_text2']['end'] = self._io.pos()
                if not self.len_text2 <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_text2, self._io, u"/types/token/seq/6")

            if  ((self.tag == ClpIr.Tags.variable_text_4) or (self.tag == ClpIr.Tags.log_type_4)) :
                pass
                self._debug['len_text4']['start'] = self._io.pos()
                self.len_text4 = self._io.read_u4be()
                self._debug['len_text4']['end'] = self._io.pos()
                if not self.len_text4 <= (self._io.size() - self._io.pos()):
                    raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_text4, self._io, u"/types/token/seq/7")

            if  ((self.has_text1) or (self.has_text2) or (self.has_text4)) :
                pass
                self._debug['text']['start'] = self._io.pos()
                self.text = self._io.read_bytes((self.len_text1 if self.has_text1 else (self.len_text2 if self.has_text2 else self.len_text4)))
                self._debug['text']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if self.tag == ClpIr.Tags.delta_1:
                pass

            if self.tag == ClpIr.Tags.delta_2:
                pass

            if  ((self.tag == ClpIr.Tags.delta_4) or (self.tag == ClpIr.Tags.variable_4)) :
                pass

            if  ((self.tag == ClpIr.Tags.delta_8) or (self.tag == ClpIr.Tags.variable_8) or (self.tag == ClpIr.Tags.timestamp) or (self.tag == ClpIr.Tags.utc_offset_change)) :
                pass

            if  ((self.tag == ClpIr.Tags.variable_text_1) or (self.tag == ClpIr.Tags.log_type_1)) :
                pass

            if  ((self.tag == ClpIr.Tags.variable_text_2) or (self.tag == ClpIr.Tags.log_type_2)) :
                pass

            if  ((self.tag == ClpIr.Tags.variable_text_4) or (self.tag == ClpIr.Tags.log_type_4)) :
                pass

            if  ((self.has_text1) or (self.has_text2) or (self.has_text4)) :
                pass


        @property
        def has_text1(self):
            if hasattr(self, '_m_has_text1'):
                return self._m_has_text1

            self._m_has_text1 =  ((self.tag == ClpIr.Tags.variable_text_1) or (self.tag == ClpIr.Tags.log_type_1)) 
            return getattr(self, '_m_has_text1', None)

        @property
        def has_text2(self):
            if hasattr(self, '_m_has_text2'):
                return self._m_has_text2

            self._m_has_text2 =  ((self.tag == ClpIr.Tags.variable_text_2) or (self.tag == ClpIr.Tags.log_type_2)) 
            return getattr(self, '_m_has_text2', None)

        @property
        def has_text4(self):
            if hasattr(self, '_m_has_text4'):
                return self._m_has_text4

            self._m_has_text4 =  ((self.tag == ClpIr.Tags.variable_text_4) or (self.tag == ClpIr.Tags.log_type_4)) 
            return getattr(self, '_m_has_text4', None)


    class Units(KaitaiStruct):
        """Tokens to the one that ends the stream, or as far as there are any."""
        SEQ_FIELDS = ["tokens"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpIr.Units, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['tokens']['start'] = self._io.pos()
            self._debug['tokens']['arr'] = []
            self.tokens = []
            if not self._io.passes(self, 'tokens', lambda i, io: ClpIr.Token(io, self, self._root), until=lambda _, io: ((_.tag == ClpIr.Tags.end_of_stream) or (io.is_eof()))):
                i = 0
                while True:
                    self._debug['tokens']['arr'].append({'start': self._io.pos()})
                    _t_tokens = ClpIr.Token(self._io, self, self._root)
                    try:
                        _t_tokens._read()
                    finally:
                        _ = _t_tokens
                        self.tokens.append(_)
                    self._debug['tokens']['arr'][len(self.tokens) - 1]['end'] = self._io.pos()
                    if  ((_.tag == ClpIr.Tags.end_of_stream) or (self._io.is_eof())) :
                        break
                    i += 1
            self._debug['tokens']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.tokens)):
                pass
                self.tokens[i]._fetch_instances()




