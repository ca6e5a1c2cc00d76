# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import clp_kv_ir
from enum import IntEnum


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
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpIr, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.head = clp_kv_ir.ClpKvIr.Preamble(self._io)
        self.body = ClpIr.Units(self._io, self, self._root)


    def _fetch_instances(self):
        pass
        self.head._fetch_instances()
        self.body._fetch_instances()

    class Token(KaitaiStruct):
        """One byte that says what this is, and a number or bytes."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpIr.Token, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.tag = KaitaiStream.resolve_enum(ClpIr.Tags, self._io.read_u1())
            if not isinstance(self.tag, ClpIr.Tags):
                raise kaitaistruct.ValidationNotInEnumError(self.tag, self._io, u"/types/token/seq/0")
            if self.tag == ClpIr.Tags.delta_1:
                pass
                self.number1 = self._io.read_s1()

            if self.tag == ClpIr.Tags.delta_2:
                pass
                self.number2 = self._io.read_s2be()

            if  ((self.tag == ClpIr.Tags.delta_4) or (self.tag == ClpIr.Tags.variable_4)) :
                pass
                self.number4 = self._io.read_s4be()

            if  ((self.tag == ClpIr.Tags.delta_8) or (self.tag == ClpIr.Tags.variable_8) or (self.tag == ClpIr.Tags.timestamp) or (self.tag == ClpIr.Tags.utc_offset_change)) :
                pass
                self.number8 = self._io.read_s8be()

            if  ((self.tag == ClpIr.Tags.variable_text_1) or (self.tag == ClpIr.Tags.log_type_1)) :
                pass
                self.len_text1 = self._io.read_u1()
                if not self.len_text1 <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_text1, self._io, u"/types/token/seq/5")

            if  ((self.tag == ClpIr.Tags.variable_text_2) or (self.tag == ClpIr.Tags.log_type_2)) :
                pass
                self.len_text2 = self._io.read_u2be()
                if not self.len_text2 <= self._io.size() - self._io.pos():
                    raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_text2, self._io, u"/types/token/seq/6")

            if  ((self.tag == ClpIr.Tags.variable_text_4) or (self.tag == ClpIr.Tags.log_type_4)) :
                pass
                self.len_text4 = self._io.read_u4be()
                if not self.len_text4 <= (self._io.size() - self._io.pos()):
                    raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_text4, self._io, u"/types/token/seq/7")

            if  ((self.has_text1) or (self.has_text2) or (self.has_text4)) :
                pass
                self.text = self._io.read_bytes((self.len_text1 if self.has_text1 else (self.len_text2 if self.has_text2 else self.len_text4)))



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
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpIr.Units, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.tokens = []
            i = 0
            while True:
                _ = ClpIr.Token(self._io, self, self._root)
                self.tokens.append(_)
                if  ((_.tag == ClpIr.Tags.end_of_stream) or (self._io.is_eof())) :
                    break
                i += 1


        def _fetch_instances(self):
            pass
            for i in range(len(self.tokens)):
                pass
                self.tokens[i]._fetch_instances()




