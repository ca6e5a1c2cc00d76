# Readers of single elements for compiled code; written by `make generated`, never edited by hand.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

cdef extern from *:
    ctypedef long long wide "__int128"
    uint16_t swap2 "__builtin_bswap16" (uint16_t) noexcept nogil
    uint32_t swap4 "__builtin_bswap32" (uint32_t) noexcept nogil
    uint64_t swap8 "__builtin_bswap64" (uint64_t) noexcept nogil


cdef int64_t read_data_bundle_key_varuint(const uint8_t *p, int64_t at, int64_t end, uint64_t *out) noexcept nogil:
    cdef uint64_t first, byte1, byte2, byte3, byte4, byte5, byte6, byte7, byte8
    if at >= end:
        return -1
    first = p[at]
    if first < 0x80:
        out[0] = first
        return at + 1
    if at + 1 >= end:
        return -1
    byte1 = p[at + 1]
    if first < 0xc0:
        out[0] = (first % 64) * 0x100 + byte1
        return at + 2
    if at + 2 >= end:
        return -1
    byte2 = p[at + 2]
    if first < 0xe0:
        out[0] = ((first % 32) * 0x100 + byte1) * 0x100 + byte2
        return at + 3
    if at + 3 >= end:
        return -1
    byte3 = p[at + 3]
    if first < 0xf0:
        out[0] = (((first % 16) * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3
        return at + 4
    if at + 4 >= end:
        return -1
    byte4 = p[at + 4]
    if first < 0xf8:
        out[0] = ((((first % 8) * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4
        return at + 5
    if at + 5 >= end:
        return -1
    byte5 = p[at + 5]
    if first < 0xfc:
        out[0] = (((((first % 4) * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5
        return at + 6
    if at + 6 >= end:
        return -1
    byte6 = p[at + 6]
    if first < 0xfe:
        out[0] = ((((((first % 2) * 0x100 + byte1) * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6
        return at + 7
    if at + 7 >= end:
        return -1
    byte7 = p[at + 7]
    if first != 0xff:
        out[0] = (((((byte1 * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6) * 0x100 + byte7
        return at + 8
    if at + 8 >= end:
        return -1
    byte8 = p[at + 8]
    out[0] = ((((((byte1 * 0x100 + byte2) * 0x100 + byte3) * 0x100 + byte4) * 0x100 + byte5) * 0x100 + byte6) * 0x100 + byte7) * 0x100 + byte8
    return at + 9


cdef int64_t read_leveldb_varint(const uint8_t *p, int64_t at, int64_t end, uint64_t *out) noexcept nogil:
    cdef uint64_t group0, group1, group2, group3, group4, group5, group6, group7, group8, group9
    if at >= end:
        return -1
    group0 = p[at]
    if group0 < 0x80:
        out[0] = group0
        return at + 1
    if at + 1 >= end:
        return -1
    group1 = p[at + 1]
    if group1 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * group1
        return at + 2
    if at + 2 >= end:
        return -1
    group2 = p[at + 2]
    if group2 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * group2)
        return at + 3
    if at + 3 >= end:
        return -1
    group3 = p[at + 3]
    if group3 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * group3))
        return at + 4
    if at + 4 >= end:
        return -1
    group4 = p[at + 4]
    if group4 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * group4)))
        return at + 5
    if at + 5 >= end:
        return -1
    group5 = p[at + 5]
    if group5 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * group5))))
        return at + 6
    if at + 6 >= end:
        return -1
    group6 = p[at + 6]
    if group6 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * group6)))))
        return at + 7
    if at + 7 >= end:
        return -1
    group7 = p[at + 7]
    if group7 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * group7))))))
        return at + 8
    if at + 8 >= end:
        return -1
    group8 = p[at + 8]
    if group8 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * group8)))))))
        return at + 9
    if at + 9 >= end:
        return -1
    group9 = p[at + 9]
    if not (group9 <= 1):
        return -1
    out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * (group8 % 0x80 + 0x80 * group9))))))))
    return at + 10


cdef int64_t read_uleb128(const uint8_t *p, int64_t at, int64_t end, uint64_t *out) noexcept nogil:
    cdef uint64_t group0, group1, group2, group3, group4, group5, group6, group7, group8, group9
    if at >= end:
        return -1
    group0 = p[at]
    if group0 < 0x80:
        out[0] = group0
        return at + 1
    if at + 1 >= end:
        return -1
    group1 = p[at + 1]
    if not (group1 >= 1):
        return -1
    if group1 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * group1
        return at + 2
    if at + 2 >= end:
        return -1
    group2 = p[at + 2]
    if not (group2 >= 1):
        return -1
    if group2 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * group2)
        return at + 3
    if at + 3 >= end:
        return -1
    group3 = p[at + 3]
    if not (group3 >= 1):
        return -1
    if group3 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * group3))
        return at + 4
    if at + 4 >= end:
        return -1
    group4 = p[at + 4]
    if not (group4 >= 1):
        return -1
    if group4 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * group4)))
        return at + 5
    if at + 5 >= end:
        return -1
    group5 = p[at + 5]
    if not (group5 >= 1):
        return -1
    if group5 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * group5))))
        return at + 6
    if at + 6 >= end:
        return -1
    group6 = p[at + 6]
    if not (group6 >= 1):
        return -1
    if group6 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * group6)))))
        return at + 7
    if at + 7 >= end:
        return -1
    group7 = p[at + 7]
    if not (group7 >= 1):
        return -1
    if group7 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * group7))))))
        return at + 8
    if at + 8 >= end:
        return -1
    group8 = p[at + 8]
    if not (group8 >= 1):
        return -1
    if group8 < 0x80:
        out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * group8)))))))
        return at + 9
    if at + 9 >= end:
        return -1
    group9 = p[at + 9]
    if not (group9 == 1):
        return -1
    out[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * (group8 % 0x80 + 0x80 * group9))))))))
    return at + 10


cdef struct ArkRbufGroupHeader:
    uint8_t magic
    uint8_t reserved
    uint8_t has_more
    uint8_t reserved1
    uint8_t number
    uint32_t len_body


cdef inline int64_t read_ark_rbuf_group_header(const uint8_t *p, int64_t at, int64_t end, ArkRbufGroupHeader *out) noexcept nogil:
    cdef uint64_t magic_bits_ = 0
    cdef uint64_t magic_ = 0
    cdef uint64_t reserved_ = 0
    cdef uint64_t has_more_ = 0
    cdef uint64_t reserved1_ = 0
    cdef uint8_t number_ = 0
    cdef uint32_t len_body_ = 0
    if end - at < 1:
        return -1
    magic_bits_ = (<uint64_t> p[at + 0] << 0)
    at += 1
    magic_ = (magic_bits_ >> 4) & 0xf
    reserved_ = (magic_bits_ >> 3) & 0x1
    has_more_ = (magic_bits_ >> 2) & 0x1
    reserved1_ = (magic_bits_ >> 0) & 0x3
    if not (<wide> magic_ == <wide> 14):
        return -1
    if end - at < 1:
        return -1
    memcpy(&number_, p + at, 1)
    at += 1
    if end - at < 4:
        return -1
    memcpy(&len_body_, p + at, 4)
    at += 4
    if not (<uint64_t> len_body_ <= <uint64_t> (end - at)):
        return -1
    out.magic = magic_
    out.reserved = reserved_
    out.has_more = has_more_
    out.reserved1 = reserved1_
    out.number = number_
    out.len_body = len_body_
    return at


cdef struct ArkRbufGuid:
    uint32_t digits1
    uint32_t digits0
    uint32_t digits3
    uint32_t digits2
    wide high
    wide low


cdef inline int64_t read_ark_rbuf_guid(const uint8_t *p, int64_t at, int64_t end, ArkRbufGuid *out) noexcept nogil:
    cdef uint32_t digits1_ = 0
    cdef uint32_t digits0_ = 0
    cdef uint32_t digits3_ = 0
    cdef uint32_t digits2_ = 0
    if end - at < 4:
        return -1
    memcpy(&digits1_, p + at, 4)
    at += 4
    if end - at < 4:
        return -1
    memcpy(&digits0_, p + at, 4)
    at += 4
    if end - at < 4:
        return -1
    memcpy(&digits3_, p + at, 4)
    at += 4
    if end - at < 4:
        return -1
    memcpy(&digits2_, p + at, 4)
    at += 4
    out.digits1 = digits1_
    out.digits0 = digits0_
    out.digits3 = digits3_
    out.digits2 = digits2_
    out.high = <wide> digits0_ * <wide> 4294967296 + <wide> digits1_
    out.low = <wide> digits2_ * <wide> 4294967296 + <wide> digits3_
    return at


cdef struct ArkRbufByteBuffer:
    int64_t value_start
    int64_t value_end


cdef inline int64_t read_ark_rbuf_byte_buffer(const uint8_t *p, int64_t at, int64_t end, ArkRbufByteBuffer *out) noexcept nogil:
    cdef wide size
    cdef uint32_t len_value_ = 0
    cdef int64_t at_value_ = 0
    cdef int64_t end_value_ = 0
    if end - at < 4:
        return -1
    memcpy(&len_value_, p + at, 4)
    at += 4
    if not (<uint64_t> len_value_ <= <uint64_t> (end - at)):
        return -1
    size = <wide> len_value_
    at_value_ = at
    at += <int64_t> size
    end_value_ = at
    out.value_start = at_value_
    out.value_end = end_value_
    return at


cdef struct ArkRbufCount:
    uint32_t value


cdef inline int64_t read_ark_rbuf_count(const uint8_t *p, int64_t at, int64_t end, ArkRbufCount *out) noexcept nogil:
    cdef uint32_t value_ = 0
    if end - at < 4:
        return -1
    memcpy(&value_, p + at, 4)
    at += 4
    out.value = value_
    return at


cdef struct ArkRbufVariantHeader:
    uint8_t index
    uint32_t len_object


cdef inline int64_t read_ark_rbuf_variant_header(const uint8_t *p, int64_t at, int64_t end, ArkRbufVariantHeader *out) noexcept nogil:
    cdef uint8_t index_ = 0
    cdef uint32_t len_object_ = 0
    if end - at < 1:
        return -1
    memcpy(&index_, p + at, 1)
    at += 1
    if end - at < 4:
        return -1
    memcpy(&len_object_, p + at, 4)
    at += 4
    if not (<uint64_t> len_object_ <= <uint64_t> (end - at)):
        return -1
    out.index = index_
    out.len_object = len_object_
    return at


cdef struct ArkSplitIndexEntry:
    uint64_t timestamp_ns
    uint32_t ofs_data
    uint32_t len_data
    uint8_t object_identifier
    uint8_t flags


cdef inline int64_t read_ark_split_index_entry(const uint8_t *p, int64_t at, int64_t end, ArkSplitIndexEntry *out) noexcept nogil:
    cdef uint64_t timestamp_ns_ = 0
    cdef uint32_t ofs_data_ = 0
    cdef uint32_t len_data_ = 0
    cdef uint8_t object_identifier_ = 0
    cdef uint8_t flags_ = 0
    if end - at < 8:
        return -1
    memcpy(&timestamp_ns_, p + at, 8)
    at += 8
    if end - at < 4:
        return -1
    memcpy(&ofs_data_, p + at, 4)
    at += 4
    if end - at < 4:
        return -1
    memcpy(&len_data_, p + at, 4)
    at += 4
    if end - at < 1:
        return -1
    memcpy(&object_identifier_, p + at, 1)
    at += 1
    if end - at < 1:
        return -1
    memcpy(&flags_, p + at, 1)
    at += 1
    out.timestamp_ns = timestamp_ns_
    out.ofs_data = ofs_data_
    out.len_data = len_data_
    out.object_identifier = object_identifier_
    out.flags = flags_
    return at


cdef struct ArkStoredMessageMessageFooter:
    uint32_t len_message
    uint8_t codec
    uint8_t magic


cdef inline int64_t read_ark_stored_message_message_footer(const uint8_t *p, int64_t at, int64_t end, ArkStoredMessageMessageFooter *out) noexcept nogil:
    cdef uint32_t len_message_ = 0
    cdef uint8_t codec_ = 0
    cdef uint8_t magic_ = 0
    if end - at < 4:
        return -1
    memcpy(&len_message_, p + at, 4)
    at += 4
    if end - at < 1:
        return -1
    memcpy(&codec_, p + at, 1)
    at += 1
    if end - at < 1:
        return -1
    memcpy(&magic_, p + at, 1)
    at += 1
    if not (<uint64_t> magic_ == <uint64_t> 240):
        return -1
    out.len_message = len_message_
    out.codec = codec_
    out.magic = magic_
    return at


cdef struct ClpIrToken:
    uint8_t tag
    int8_t number1
    int16_t number2
    int32_t number4
    int64_t number8
    uint8_t len_text1
    uint16_t len_text2
    uint32_t len_text4
    int64_t text_start
    int64_t text_end
    wide has_text1
    wide has_text2
    wide has_text4


cdef inline int64_t read_clp_ir_token(const uint8_t *p, int64_t at, int64_t end, ClpIrToken *out) noexcept nogil:
    cdef wide size
    cdef uint8_t tag_ = 0
    cdef int8_t number1_ = 0
    cdef int16_t number2_ = 0
    cdef int32_t number4_ = 0
    cdef int64_t number8_ = 0
    cdef uint8_t len_text1_ = 0
    cdef uint16_t len_text2_ = 0
    cdef uint32_t len_text4_ = 0
    cdef int64_t at_text_ = 0
    cdef int64_t end_text_ = 0
    if end - at < 1:
        return -1
    memcpy(&tag_, p + at, 1)
    at += 1
    if not ((((((((((((((<uint64_t> tag_ == <uint64_t> 0 or <uint64_t> tag_ == <uint64_t> 17) or <uint64_t> tag_ == <uint64_t> 18) or <uint64_t> tag_ == <uint64_t> 19) or <uint64_t> tag_ == <uint64_t> 24) or <uint64_t> tag_ == <uint64_t> 25) or <uint64_t> tag_ == <uint64_t> 33) or <uint64_t> tag_ == <uint64_t> 34) or <uint64_t> tag_ == <uint64_t> 35) or <uint64_t> tag_ == <uint64_t> 48) or <uint64_t> tag_ == <uint64_t> 49) or <uint64_t> tag_ == <uint64_t> 50) or <uint64_t> tag_ == <uint64_t> 51) or <uint64_t> tag_ == <uint64_t> 52) or <uint64_t> tag_ == <uint64_t> 63):
        return -1
    if <wide> tag_ == <wide> 49:
        if end - at < 1:
            return -1
        memcpy(&number1_, p + at, 1)
        at += 1
    else:
        number1_ = 0
    if <wide> tag_ == <wide> 50:
        if end - at < 2:
            return -1
        memcpy(&number2_, p + at, 2)
        at += 2
        number2_ = <int16_t> swap2(<uint16_t> number2_)
    else:
        number2_ = 0
    if <wide> tag_ == <wide> 51 or <wide> tag_ == <wide> 24:
        if end - at < 4:
            return -1
        memcpy(&number4_, p + at, 4)
        at += 4
        number4_ = <int32_t> swap4(<uint32_t> number4_)
    else:
        number4_ = 0
    if ((<wide> tag_ == <wide> 52 or <wide> tag_ == <wide> 25) or <wide> tag_ == <wide> 48) or <wide> tag_ == <wide> 63:
        if end - at < 8:
            return -1
        memcpy(&number8_, p + at, 8)
        at += 8
        number8_ = <int64_t> swap8(<uint64_t> number8_)
    else:
        number8_ = 0
    if <wide> tag_ == <wide> 17 or <wide> tag_ == <wide> 33:
        if end - at < 1:
            return -1
        memcpy(&len_text1_, p + at, 1)
        at += 1
        if not (<wide> len_text1_ <= <wide> (end - at)):
            return -1
    else:
        len_text1_ = 0
    if <wide> tag_ == <wide> 18 or <wide> tag_ == <wide> 34:
        if end - at < 2:
            return -1
        memcpy(&len_text2_, p + at, 2)
        at += 2
        len_text2_ = <uint16_t> swap2(<uint16_t> len_text2_)
        if not (<wide> len_text2_ <= <wide> (end - at)):
            return -1
    else:
        len_text2_ = 0
    if <wide> tag_ == <wide> 19 or <wide> tag_ == <wide> 35:
        if end - at < 4:
            return -1
        memcpy(&len_text4_, p + at, 4)
        at += 4
        len_text4_ = <uint32_t> swap4(<uint32_t> len_text4_)
        if not (<wide> len_text4_ <= <wide> (end - at)):
            return -1
    else:
        len_text4_ = 0
    if ((<wide> tag_ == <wide> 17 or <wide> tag_ == <wide> 33) or (<wide> tag_ == <wide> 18 or <wide> tag_ == <wide> 34)) or (<wide> tag_ == <wide> 19 or <wide> tag_ == <wide> 35):
        size = (<wide> len_text1_ if (<wide> tag_ == <wide> 17 or <wide> tag_ == <wide> 33) else (<wide> len_text2_ if (<wide> tag_ == <wide> 18 or <wide> tag_ == <wide> 34) else <wide> len_text4_))
        if size < 0 or size > <wide> (end - at):
            return -1
        at_text_ = at
        at += <int64_t> size
        end_text_ = at
    else:
        at_text_ = 0
        end_text_ = 0
    out.tag = tag_
    out.number1 = number1_
    out.number2 = number2_
    out.number4 = number4_
    out.number8 = number8_
    out.len_text1 = len_text1_
    out.len_text2 = len_text2_
    out.len_text4 = len_text4_
    out.text_start = at_text_
    out.text_end = end_text_
    out.has_text1 = <wide> tag_ == <wide> 17 or <wide> tag_ == <wide> 33
    out.has_text2 = <wide> tag_ == <wide> 18 or <wide> tag_ == <wide> 34
    out.has_text4 = <wide> tag_ == <wide> 19 or <wide> tag_ == <wide> 35
    return at


cdef struct ClpKvIrToken:
    uint8_t tag
    int8_t number1
    int16_t number2
    int32_t number4
    int64_t number8
    double real
    uint8_t len_text1
    uint16_t len_text2
    uint32_t len_text4
    int64_t text_start
    int64_t text_end
    wide has_text1
    wide has_text2
    wide has_text4


cdef inline int64_t read_clp_kv_ir_token(const uint8_t *p, int64_t at, int64_t end, ClpKvIrToken *out) noexcept nogil:
    cdef wide size
    cdef uint8_t tag_ = 0
    cdef int8_t number1_ = 0
    cdef int16_t number2_ = 0
    cdef int32_t number4_ = 0
    cdef int64_t number8_ = 0
    cdef double real_ = 0
    cdef uint64_t real_word_ = 0
    cdef uint8_t len_text1_ = 0
    cdef uint16_t len_text2_ = 0
    cdef uint32_t len_text4_ = 0
    cdef int64_t at_text_ = 0
    cdef int64_t end_text_ = 0
    if end - at < 1:
        return -1
    memcpy(&tag_, p + at, 1)
    at += 1
    if not (((((((((((((((((((((((((((((((((((<uint64_t> tag_ == <uint64_t> 0 or <uint64_t> tag_ == <uint64_t> 17) or <uint64_t> tag_ == <uint64_t> 18) or <uint64_t> tag_ == <uint64_t> 19) or <uint64_t> tag_ == <uint64_t> 24) or <uint64_t> tag_ == <uint64_t> 25) or <uint64_t> tag_ == <uint64_t> 33) or <uint64_t> tag_ == <uint64_t> 34) or <uint64_t> tag_ == <uint64_t> 35) or <uint64_t> tag_ == <uint64_t> 63) or <uint64_t> tag_ == <uint64_t> 65) or <uint64_t> tag_ == <uint64_t> 66) or <uint64_t> tag_ == <uint64_t> 67) or <uint64_t> tag_ == <uint64_t> 81) or <uint64_t> tag_ == <uint64_t> 82) or <uint64_t> tag_ == <uint64_t> 83) or <uint64_t> tag_ == <uint64_t> 84) or <uint64_t> tag_ == <uint64_t> 86) or <uint64_t> tag_ == <uint64_t> 87) or <uint64_t> tag_ == <uint64_t> 88) or <uint64_t> tag_ == <uint64_t> 89) or <uint64_t> tag_ == <uint64_t> 90) or <uint64_t> tag_ == <uint64_t> 94) or <uint64_t> tag_ == <uint64_t> 95) or <uint64_t> tag_ == <uint64_t> 96) or <uint64_t> tag_ == <uint64_t> 97) or <uint64_t> tag_ == <uint64_t> 98) or <uint64_t> tag_ == <uint64_t> 101) or <uint64_t> tag_ == <uint64_t> 102) or <uint64_t> tag_ == <uint64_t> 103) or <uint64_t> tag_ == <uint64_t> 113) or <uint64_t> tag_ == <uint64_t> 114) or <uint64_t> tag_ == <uint64_t> 115) or <uint64_t> tag_ == <uint64_t> 116) or <uint64_t> tag_ == <uint64_t> 117) or <uint64_t> tag_ == <uint64_t> 118):
        return -1
    if (<wide> tag_ == <wide> 101 or <wide> tag_ == <wide> 96) or <wide> tag_ == <wide> 81:
        if end - at < 1:
            return -1
        memcpy(&number1_, p + at, 1)
        at += 1
    else:
        number1_ = 0
    if (<wide> tag_ == <wide> 102 or <wide> tag_ == <wide> 97) or <wide> tag_ == <wide> 82:
        if end - at < 2:
            return -1
        memcpy(&number2_, p + at, 2)
        at += 2
        number2_ = <int16_t> swap2(<uint16_t> number2_)
    else:
        number2_ = 0
    if ((<wide> tag_ == <wide> 103 or <wide> tag_ == <wide> 98) or <wide> tag_ == <wide> 83) or <wide> tag_ == <wide> 24:
        if end - at < 4:
            return -1
        memcpy(&number4_, p + at, 4)
        at += 4
        number4_ = <int32_t> swap4(<uint32_t> number4_)
    else:
        number4_ = 0
    if (<wide> tag_ == <wide> 84 or <wide> tag_ == <wide> 25) or <wide> tag_ == <wide> 63:
        if end - at < 8:
            return -1
        memcpy(&number8_, p + at, 8)
        at += 8
        number8_ = <int64_t> swap8(<uint64_t> number8_)
    else:
        number8_ = 0
    if <wide> tag_ == <wide> 86:
        if end - at < 8:
            return -1
        memcpy(&real_, p + at, 8)
        at += 8
        memcpy(&real_word_, &real_, 8)
        real_word_ = swap8(real_word_)
        memcpy(&real_, &real_word_, 8)
    else:
        real_ = 0
    if (<wide> tag_ == <wide> 65 or <wide> tag_ == <wide> 17) or <wide> tag_ == <wide> 33:
        if end - at < 1:
            return -1
        memcpy(&len_text1_, p + at, 1)
        at += 1
        if not (<wide> len_text1_ <= <wide> (end - at)):
            return -1
    else:
        len_text1_ = 0
    if (<wide> tag_ == <wide> 66 or <wide> tag_ == <wide> 18) or <wide> tag_ == <wide> 34:
        if end - at < 2:
            return -1
        memcpy(&len_text2_, p + at, 2)
        at += 2
        len_text2_ = <uint16_t> swap2(<uint16_t> len_text2_)
        if not (<wide> len_text2_ <= <wide> (end - at)):
            return -1
    else:
        len_text2_ = 0
    if (<wide> tag_ == <wide> 67 or <wide> tag_ == <wide> 19) or <wide> tag_ == <wide> 35:
        if end - at < 4:
            return -1
        memcpy(&len_text4_, p + at, 4)
        at += 4
        len_text4_ = <uint32_t> swap4(<uint32_t> len_text4_)
        if not (<wide> len_text4_ <= <wide> (end - at)):
            return -1
    else:
        len_text4_ = 0
    if (((<wide> tag_ == <wide> 65 or <wide> tag_ == <wide> 17) or <wide> tag_ == <wide> 33) or ((<wide> tag_ == <wide> 66 or <wide> tag_ == <wide> 18) or <wide> tag_ == <wide> 34)) or ((<wide> tag_ == <wide> 67 or <wide> tag_ == <wide> 19) or <wide> tag_ == <wide> 35):
        size = (<wide> len_text1_ if ((<wide> tag_ == <wide> 65 or <wide> tag_ == <wide> 17) or <wide> tag_ == <wide> 33) else (<wide> len_text2_ if ((<wide> tag_ == <wide> 66 or <wide> tag_ == <wide> 18) or <wide> tag_ == <wide> 34) else <wide> len_text4_))
        if size < 0 or size > <wide> (end - at):
            return -1
        at_text_ = at
        at += <int64_t> size
        end_text_ = at
    else:
        at_text_ = 0
        end_text_ = 0
    out.tag = tag_
    out.number1 = number1_
    out.number2 = number2_
    out.number4 = number4_
    out.number8 = number8_
    out.real = real_
    out.len_text1 = len_text1_
    out.len_text2 = len_text2_
    out.len_text4 = len_text4_
    out.text_start = at_text_
    out.text_end = end_text_
    out.has_text1 = (<wide> tag_ == <wide> 65 or <wide> tag_ == <wide> 17) or <wide> tag_ == <wide> 33
    out.has_text2 = (<wide> tag_ == <wide> 66 or <wide> tag_ == <wide> 18) or <wide> tag_ == <wide> 34
    out.has_text4 = (<wide> tag_ == <wide> 67 or <wide> tag_ == <wide> 19) or <wide> tag_ == <wide> 35
    return at


cdef struct ClpSDictionaryEntriesEntry:
    int64_t value_start
    int64_t value_end


cdef inline int64_t read_clp_s_dictionary_entries_entry(const uint8_t *p, int64_t at, int64_t end, ClpSDictionaryEntriesEntry *out) noexcept nogil:
    cdef wide size
    cdef uint64_t len_value_ = 0
    cdef int64_t at_value_ = 0
    cdef int64_t end_value_ = 0
    if end - at < 8:
        return -1
    memcpy(&len_value_, p + at, 8)
    at += 8
    if not (<uint64_t> len_value_ <= <uint64_t> (end - at)):
        return -1
    size = <wide> len_value_
    at_value_ = at
    at += <int64_t> size
    end_value_ = at
    out.value_start = at_value_
    out.value_end = end_value_
    return at


cdef struct ClpSSchemaIdsSchema:
    int32_t schema_id
    uint32_t num_entries
    uint32_t num_ordered
    int64_t entries_value_start
    int64_t entries_value_end


cdef inline int64_t read_clp_s_schema_ids_schema(const uint8_t *p, int64_t at, int64_t end, ClpSSchemaIdsSchema *out) noexcept nogil:
    cdef wide size
    cdef int32_t schema_id_ = 0
    cdef uint32_t num_entries_ = 0
    cdef uint32_t num_ordered_ = 0
    cdef int64_t at_entries_ = 0
    cdef int64_t end_entries_ = 0
    if end - at < 4:
        return -1
    memcpy(&schema_id_, p + at, 4)
    at += 4
    if end - at < 4:
        return -1
    memcpy(&num_entries_, p + at, 4)
    at += 4
    if not (<wide> num_entries_ <= <wide> (end - at) // <wide> 4):
        return -1
    if end - at < 4:
        return -1
    memcpy(&num_ordered_, p + at, 4)
    at += 4
    if not (<uint64_t> num_ordered_ <= <uint64_t> num_entries_):
        return -1
    size = <wide> num_entries_ * <wide> 4
    if size < 0 or size > <wide> (end - at):
        return -1
    at_entries_ = at
    at += <int64_t> size
    end_entries_ = at
    out.schema_id = schema_id_
    out.num_entries = num_entries_
    out.num_ordered = num_ordered_
    out.entries_value_start = at_entries_
    out.entries_value_end = end_entries_
    return at


cdef struct ClpSSchemaIdsEntry:
    int32_t value


cdef inline int64_t read_clp_s_schema_ids_entry(const uint8_t *p, int64_t at, int64_t end, ClpSSchemaIdsEntry *out) noexcept nogil:
    cdef int32_t value_ = 0
    if end - at < 4:
        return -1
    memcpy(&value_, p + at, 4)
    at += 4
    out.value = value_
    return at


cdef struct ClpSSchemaTreeNode:
    int32_t parent_id
    int64_t key_start
    int64_t key_end
    uint8_t type


cdef inline int64_t read_clp_s_schema_tree_node(const uint8_t *p, int64_t at, int64_t end, ClpSSchemaTreeNode *out) noexcept nogil:
    cdef wide size
    cdef int32_t parent_id_ = 0
    cdef uint64_t len_key_ = 0
    cdef int64_t at_key_ = 0
    cdef int64_t end_key_ = 0
    cdef uint8_t type_ = 0
    if end - at < 4:
        return -1
    memcpy(&parent_id_, p + at, 4)
    at += 4
    if end - at < 8:
        return -1
    memcpy(&len_key_, p + at, 8)
    at += 8
    if not (<uint64_t> len_key_ <= <uint64_t> (end - at)):
        return -1
    size = <wide> len_key_
    at_key_ = at
    at += <int64_t> size
    end_key_ = at
    if end - at < 1:
        return -1
    memcpy(&type_, p + at, 1)
    at += 1
    out.parent_id = parent_id_
    out.key_start = at_key_
    out.key_end = end_key_
    out.type = type_
    return at


cdef struct ClpSTableMetadataStream:
    uint64_t ofs_stream
    uint64_t len_uncompressed


cdef inline int64_t read_clp_s_table_metadata_stream(const uint8_t *p, int64_t at, int64_t end, ClpSTableMetadataStream *out) noexcept nogil:
    cdef uint64_t ofs_stream_ = 0
    cdef uint64_t len_uncompressed_ = 0
    if end - at < 8:
        return -1
    memcpy(&ofs_stream_, p + at, 8)
    at += 8
    if end - at < 8:
        return -1
    memcpy(&len_uncompressed_, p + at, 8)
    at += 8
    out.ofs_stream = ofs_stream_
    out.len_uncompressed = len_uncompressed_
    return at


cdef struct ClpSTableMetadataTable:
    uint64_t stream_id
    uint64_t ofs_table
    int32_t schema_id
    uint64_t num_messages


cdef inline int64_t read_clp_s_table_metadata_table(const uint8_t *p, int64_t at, int64_t end, ClpSTableMetadataTable *out) noexcept nogil:
    cdef uint64_t stream_id_ = 0
    cdef uint64_t ofs_table_ = 0
    cdef int32_t schema_id_ = 0
    cdef uint64_t num_messages_ = 0
    if end - at < 8:
        return -1
    memcpy(&stream_id_, p + at, 8)
    at += 8
    if end - at < 8:
        return -1
    memcpy(&ofs_table_, p + at, 8)
    at += 8
    if end - at < 4:
        return -1
    memcpy(&schema_id_, p + at, 4)
    at += 4
    if end - at < 8:
        return -1
    memcpy(&num_messages_, p + at, 8)
    at += 8
    out.stream_id = stream_id_
    out.ofs_table = ofs_table_
    out.schema_id = schema_id_
    out.num_messages = num_messages_
    return at


cdef struct DataBundleKeyRecordKey:
    uint64_t shard_index
    uint64_t shard_uncompressed_offset


cdef inline int64_t read_data_bundle_key_record_key(const uint8_t *p, int64_t at, int64_t end, DataBundleKeyRecordKey *out) noexcept nogil:
    cdef uint64_t shard_index_ = 0
    cdef uint64_t shard_index_long_
    cdef uint64_t shard_uncompressed_offset_ = 0
    cdef uint64_t shard_uncompressed_offset_long_
    if at < end and (<uint64_t> p[at]) < 0x80:
        shard_index_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at]) < 0xc0:
        shard_index_ = ((<uint64_t> p[at]) % 64) * 0x100 + (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_data_bundle_key_varuint(p, at, end, &shard_index_long_)
        if at < 0:
            return -1
        shard_index_ = shard_index_long_
    if at < end and (<uint64_t> p[at]) < 0x80:
        shard_uncompressed_offset_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at]) < 0xc0:
        shard_uncompressed_offset_ = ((<uint64_t> p[at]) % 64) * 0x100 + (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_data_bundle_key_varuint(p, at, end, &shard_uncompressed_offset_long_)
        if at < 0:
            return -1
        shard_uncompressed_offset_ = shard_uncompressed_offset_long_
    out.shard_index = shard_index_
    out.shard_uncompressed_offset = shard_uncompressed_offset_
    return at


cdef struct DataBundleKeyChunk:
    int64_t text_start
    int64_t text_end
    uint8_t marker


cdef inline int64_t read_data_bundle_key_chunk(const uint8_t *p, int64_t at, int64_t end, DataBundleKeyChunk *out) noexcept nogil:
    cdef int64_t at_text_ = 0
    cdef int64_t end_text_ = 0
    cdef const void * found_text_
    cdef uint8_t marker_ = 0
    if at >= end:
        return -1
    found_text_ = memchr(p + at, 0, end - at)
    if found_text_ == NULL:
        return -1
    at_text_ = at
    end_text_ = <const uint8_t *> found_text_ - p
    at = end_text_ + 1
    if end - at < 1:
        return -1
    memcpy(&marker_, p + at, 1)
    at += 1
    if not (<uint64_t> marker_ == <uint64_t> 0 or <uint64_t> marker_ == <uint64_t> 255):
        return -1
    out.text_start = at_text_
    out.text_end = end_text_
    out.marker = marker_
    return at


cdef struct LeveldbBlockEntry:
    uint64_t len_shared
    uint64_t len_value
    int64_t key_suffix_start
    int64_t key_suffix_end
    int64_t value_data_start
    int64_t value_data_end


cdef inline int64_t read_leveldb_block_entry(const uint8_t *p, int64_t at, int64_t end, LeveldbBlockEntry *out) noexcept nogil:
    cdef wide size
    cdef uint64_t len_shared_ = 0
    cdef uint64_t len_shared_long_
    cdef uint64_t len_key_suffix_ = 0
    cdef uint64_t len_key_suffix_long_
    cdef uint64_t len_value_ = 0
    cdef uint64_t len_value_long_
    cdef int64_t at_key_suffix_ = 0
    cdef int64_t end_key_suffix_ = 0
    cdef int64_t value_rest_ = 0
    cdef int64_t value_base_ = 0
    cdef int64_t value_at_data_ = 0
    cdef int64_t value_end_data_ = 0
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_shared_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
        len_shared_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_leveldb_varint(p, at, end, &len_shared_long_)
        if at < 0:
            return -1
        len_shared_ = len_shared_long_
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_key_suffix_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
        len_key_suffix_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_leveldb_varint(p, at, end, &len_key_suffix_long_)
        if at < 0:
            return -1
        len_key_suffix_ = len_key_suffix_long_
    if not (<uint64_t> len_key_suffix_ <= <uint64_t> (end - at)):
        return -1
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_value_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
        len_value_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_leveldb_varint(p, at, end, &len_value_long_)
        if at < 0:
            return -1
        len_value_ = len_value_long_
    if not (end - at - <int64_t> <uint64_t> len_key_suffix_ >= 0 and <uint64_t> len_value_ <= <uint64_t> (end - at - <int64_t> <uint64_t> len_key_suffix_)):
        return -1
    size = <wide> len_key_suffix_
    if <uint64_t> len_key_suffix_ > <uint64_t> (end - at):
        return -1
    at_key_suffix_ = at
    at += <int64_t> size
    end_key_suffix_ = at
    size = <wide> len_value_
    if <uint64_t> len_value_ > <uint64_t> (end - at):
        return -1
    value_base_ = at
    value_rest_ = end
    end = at + <int64_t> size
    value_at_data_ = at
    at = max(at, end)
    value_end_data_ = at
    at = end
    end = value_rest_
    out.len_shared = len_shared_
    out.len_value = len_value_
    out.key_suffix_start = at_key_suffix_
    out.key_suffix_end = end_key_suffix_
    out.value_data_start = value_at_data_
    out.value_data_end = value_end_data_
    return at


cdef struct LeveldbBlockHandle:
    uint64_t ofs_block
    uint64_t len_block


cdef inline int64_t read_leveldb_block_handle(const uint8_t *p, int64_t at, int64_t end, LeveldbBlockHandle *out) noexcept nogil:
    cdef uint64_t ofs_block_ = 0
    cdef uint64_t ofs_block_long_
    cdef uint64_t len_block_ = 0
    cdef uint64_t len_block_long_
    if at < end and (<uint64_t> p[at]) < 0x80:
        ofs_block_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
        ofs_block_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_leveldb_varint(p, at, end, &ofs_block_long_)
        if at < 0:
            return -1
        ofs_block_ = ofs_block_long_
    if not (<uint64_t> ofs_block_ <= <uint64_t> 9223372036854775807):
        return -1
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_block_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
        len_block_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_leveldb_varint(p, at, end, &len_block_long_)
        if at < 0:
            return -1
        len_block_ = len_block_long_
    if not (<uint64_t> len_block_ <= <uint64_t> 9223372036854775807):
        return -1
    out.ofs_block = ofs_block_
    out.len_block = len_block_
    return at


cdef struct LeveldbIndexDeltaEntry:
    uint64_t len_shared
    int64_t key_suffix_start
    int64_t key_suffix_end
    uint64_t handle_ofs_block
    uint64_t handle_len_block
    uint64_t raw_delta


cdef inline int64_t read_leveldb_index_delta_entry(const uint8_t *p, int64_t at, int64_t end, LeveldbIndexDeltaEntry *out) noexcept nogil:
    cdef wide size
    cdef uint64_t len_shared_ = 0
    cdef uint64_t len_shared_long_
    cdef uint64_t len_key_suffix_ = 0
    cdef uint64_t len_key_suffix_long_
    cdef int64_t at_key_suffix_ = 0
    cdef int64_t end_key_suffix_ = 0
    cdef int64_t handle_rest_ = 0
    cdef uint64_t handle_ofs_block_ = 0
    cdef uint64_t handle_ofs_block_long_
    cdef uint64_t handle_len_block_ = 0
    cdef uint64_t handle_len_block_long_
    cdef uint64_t raw_delta_ = 0
    cdef uint64_t raw_delta_long_
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_shared_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
        len_shared_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_leveldb_varint(p, at, end, &len_shared_long_)
        if at < 0:
            return -1
        len_shared_ = len_shared_long_
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_key_suffix_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
        len_key_suffix_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_leveldb_varint(p, at, end, &len_key_suffix_long_)
        if at < 0:
            return -1
        len_key_suffix_ = len_key_suffix_long_
    if not (<uint64_t> len_key_suffix_ <= <uint64_t> (end - at)):
        return -1
    size = <wide> len_key_suffix_
    at_key_suffix_ = at
    at += <int64_t> size
    end_key_suffix_ = at
    if <uint64_t> len_shared_ == <uint64_t> 0:
        if at < end and (<uint64_t> p[at]) < 0x80:
            handle_ofs_block_ = (<uint64_t> p[at])
            at += 1
        elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
            handle_ofs_block_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
            at += 2
        else:
            at = read_leveldb_varint(p, at, end, &handle_ofs_block_long_)
            if at < 0:
                return -1
            handle_ofs_block_ = handle_ofs_block_long_
        if not (<uint64_t> handle_ofs_block_ <= <uint64_t> 9223372036854775807):
            return -1
        if at < end and (<uint64_t> p[at]) < 0x80:
            handle_len_block_ = (<uint64_t> p[at])
            at += 1
        elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
            handle_len_block_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
            at += 2
        else:
            at = read_leveldb_varint(p, at, end, &handle_len_block_long_)
            if at < 0:
                return -1
            handle_len_block_ = handle_len_block_long_
        if not (<uint64_t> handle_len_block_ <= <uint64_t> 9223372036854775807):
            return -1
    else:
        handle_ofs_block_ = 0
        handle_len_block_ = 0
    if <uint64_t> len_shared_ != <uint64_t> 0:
        if at < end and (<uint64_t> p[at]) < 0x80:
            raw_delta_ = (<uint64_t> p[at])
            at += 1
        elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
            raw_delta_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
            at += 2
        else:
            at = read_leveldb_varint(p, at, end, &raw_delta_long_)
            if at < 0:
                return -1
            raw_delta_ = raw_delta_long_
    else:
        raw_delta_ = 0
    out.len_shared = len_shared_
    out.key_suffix_start = at_key_suffix_
    out.key_suffix_end = end_key_suffix_
    out.handle_ofs_block = handle_ofs_block_
    out.handle_len_block = handle_len_block_
    out.raw_delta = raw_delta_
    return at


cdef struct LeveldbInternalKey:
    int64_t user_key_start
    int64_t user_key_end
    uint8_t value_type
    uint32_t sequence_lo
    uint16_t sequence_hi
    uint8_t sequence_top
    wide sequence


cdef inline int64_t read_leveldb_internal_key(const uint8_t *p, int64_t at, int64_t end, LeveldbInternalKey *out) noexcept nogil:
    cdef int64_t first = at
    cdef wide size
    cdef int64_t at_user_key_ = 0
    cdef int64_t end_user_key_ = 0
    cdef uint8_t value_type_ = 0
    cdef uint32_t sequence_lo_ = 0
    cdef uint16_t sequence_hi_ = 0
    cdef uint8_t sequence_top_ = 0
    size = <wide> (end - first) - <wide> 8
    if size < 0 or size > <wide> (end - at):
        return -1
    at_user_key_ = at
    at += <int64_t> size
    end_user_key_ = at
    if end - at < 1:
        return -1
    memcpy(&value_type_, p + at, 1)
    at += 1
    if end - at < 4:
        return -1
    memcpy(&sequence_lo_, p + at, 4)
    at += 4
    if end - at < 2:
        return -1
    memcpy(&sequence_hi_, p + at, 2)
    at += 2
    if end - at < 1:
        return -1
    memcpy(&sequence_top_, p + at, 1)
    at += 1
    out.user_key_start = at_user_key_
    out.user_key_end = end_user_key_
    out.value_type = value_type_
    out.sequence_lo = sequence_lo_
    out.sequence_hi = sequence_hi_
    out.sequence_top = sequence_top_
    out.sequence = (<wide> sequence_lo_ + <wide> sequence_hi_ * <wide> 4294967296) + <wide> sequence_top_ * <wide> 281474976710656
    return at


cdef struct LeveldbLogFragment:
    uint32_t checksum
    uint16_t len_data
    uint8_t fragment_type
    uint32_t log_number
    int64_t data_bytes_start
    int64_t data_bytes_end
    wide is_whole
    wide is_zero_fill
    wide is_recyclable


cdef inline int64_t read_leveldb_log_fragment(const uint8_t *p, int64_t at, int64_t end, LeveldbLogFragment *out) noexcept nogil:
    cdef wide size
    cdef uint32_t checksum_ = 0
    cdef uint16_t len_data_ = 0
    cdef uint8_t fragment_type_ = 0
    cdef uint32_t log_number_ = 0
    cdef int64_t data_rest_ = 0
    cdef int64_t data_base_ = 0
    cdef int64_t data_at_bytes_ = 0
    cdef int64_t data_end_bytes_ = 0
    if end - at < 4:
        return -1
    memcpy(&checksum_, p + at, 4)
    at += 4
    if end - at < 2:
        return -1
    memcpy(&len_data_, p + at, 2)
    at += 2
    if not (<wide> len_data_ <= <wide> (end - at) - <wide> 1):
        return -1
    if end - at < 1:
        return -1
    memcpy(&fragment_type_, p + at, 1)
    at += 1
    if ((((((<wide> fragment_type_ == <wide> 5 or <wide> fragment_type_ == <wide> 6) or <wide> fragment_type_ == <wide> 7) or <wide> fragment_type_ == <wide> 8) or <wide> fragment_type_ == <wide> 11) or <wide> fragment_type_ == <wide> 131) or <wide> fragment_type_ == <wide> 34):
        if end - at < 4:
            return -1
        memcpy(&log_number_, p + at, 4)
        at += 4
    else:
        log_number_ = 0
    size = <wide> len_data_
    if <uint64_t> len_data_ > <uint64_t> (end - at):
        return -1
    data_base_ = at
    data_rest_ = end
    end = at + <int64_t> size
    data_at_bytes_ = at
    at = max(at, end)
    data_end_bytes_ = at
    at = end
    end = data_rest_
    out.checksum = checksum_
    out.len_data = len_data_
    out.fragment_type = fragment_type_
    out.log_number = log_number_
    out.data_bytes_start = data_at_bytes_
    out.data_bytes_end = data_end_bytes_
    out.is_whole = <wide> fragment_type_ == <wide> 1 or <wide> fragment_type_ == <wide> 5
    out.is_zero_fill = <wide> fragment_type_ == <wide> 0 and <uint64_t> len_data_ == <uint64_t> 0
    out.is_recyclable = (((((<wide> fragment_type_ == <wide> 5 or <wide> fragment_type_ == <wide> 6) or <wide> fragment_type_ == <wide> 7) or <wide> fragment_type_ == <wide> 8) or <wide> fragment_type_ == <wide> 11) or <wide> fragment_type_ == <wide> 131) or <wide> fragment_type_ == <wide> 34
    return at


cdef struct LeveldbTableBlockTrailer:
    uint8_t compression
    uint32_t checksum


cdef inline int64_t read_leveldb_table_block_trailer(const uint8_t *p, int64_t at, int64_t end, LeveldbTableBlockTrailer *out) noexcept nogil:
    cdef uint8_t compression_ = 0
    cdef uint32_t checksum_ = 0
    if end - at < 1:
        return -1
    memcpy(&compression_, p + at, 1)
    at += 1
    if end - at < 4:
        return -1
    memcpy(&checksum_, p + at, 4)
    at += 4
    out.compression = compression_
    out.checksum = checksum_
    return at


cdef struct LeveldbWriteBatchOperation:
    uint8_t operation_type
    uint64_t column_family
    int64_t key_data_start
    int64_t key_data_end
    int64_t value_data_start
    int64_t value_data_end
    int64_t commit_timestamp_data_start
    int64_t commit_timestamp_data_end
    int64_t transaction_name_data_start
    int64_t transaction_name_data_end
    wide has_column_family
    wide has_key
    wide has_transaction_name
    wide has_value


cdef inline int64_t read_leveldb_write_batch_operation(const uint8_t *p, int64_t at, int64_t end, LeveldbWriteBatchOperation *out) noexcept nogil:
    cdef wide size
    cdef uint8_t operation_type_ = 0
    cdef uint64_t column_family_ = 0
    cdef uint64_t column_family_long_
    cdef int64_t key_rest_ = 0
    cdef uint64_t key_len_data_ = 0
    cdef uint64_t key_len_data_long_
    cdef int64_t key_at_data_ = 0
    cdef int64_t key_end_data_ = 0
    cdef int64_t value_rest_ = 0
    cdef uint64_t value_len_data_ = 0
    cdef uint64_t value_len_data_long_
    cdef int64_t value_at_data_ = 0
    cdef int64_t value_end_data_ = 0
    cdef int64_t commit_timestamp_rest_ = 0
    cdef uint64_t commit_timestamp_len_data_ = 0
    cdef uint64_t commit_timestamp_len_data_long_
    cdef int64_t commit_timestamp_at_data_ = 0
    cdef int64_t commit_timestamp_end_data_ = 0
    cdef int64_t transaction_name_rest_ = 0
    cdef uint64_t transaction_name_len_data_ = 0
    cdef uint64_t transaction_name_len_data_long_
    cdef int64_t transaction_name_at_data_ = 0
    cdef int64_t transaction_name_end_data_ = 0
    if end - at < 1:
        return -1
    memcpy(&operation_type_, p + at, 1)
    at += 1
    if not ((((((((((((((((((((((((<uint64_t> operation_type_ == <uint64_t> 0 or <uint64_t> operation_type_ == <uint64_t> 1) or <uint64_t> operation_type_ == <uint64_t> 2) or <uint64_t> operation_type_ == <uint64_t> 3) or <uint64_t> operation_type_ == <uint64_t> 4) or <uint64_t> operation_type_ == <uint64_t> 5) or <uint64_t> operation_type_ == <uint64_t> 6) or <uint64_t> operation_type_ == <uint64_t> 7) or <uint64_t> operation_type_ == <uint64_t> 8) or <uint64_t> operation_type_ == <uint64_t> 9) or <uint64_t> operation_type_ == <uint64_t> 10) or <uint64_t> operation_type_ == <uint64_t> 11) or <uint64_t> operation_type_ == <uint64_t> 12) or <uint64_t> operation_type_ == <uint64_t> 13) or <uint64_t> operation_type_ == <uint64_t> 14) or <uint64_t> operation_type_ == <uint64_t> 15) or <uint64_t> operation_type_ == <uint64_t> 16) or <uint64_t> operation_type_ == <uint64_t> 17) or <uint64_t> operation_type_ == <uint64_t> 18) or <uint64_t> operation_type_ == <uint64_t> 19) or <uint64_t> operation_type_ == <uint64_t> 21) or <uint64_t> operation_type_ == <uint64_t> 22) or <uint64_t> operation_type_ == <uint64_t> 23) or <uint64_t> operation_type_ == <uint64_t> 24) or <uint64_t> operation_type_ == <uint64_t> 25):
        return -1
    if (((((((<wide> operation_type_ == <wide> 4 or <wide> operation_type_ == <wide> 5) or <wide> operation_type_ == <wide> 6) or <wide> operation_type_ == <wide> 8) or <wide> operation_type_ == <wide> 14) or <wide> operation_type_ == <wide> 16) or <wide> operation_type_ == <wide> 23) or <wide> operation_type_ == <wide> 25):
        if at < end and (<uint64_t> p[at]) < 0x80:
            column_family_ = (<uint64_t> p[at])
            at += 1
        elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
            column_family_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
            at += 2
        else:
            at = read_leveldb_varint(p, at, end, &column_family_long_)
            if at < 0:
                return -1
            column_family_ = column_family_long_
    else:
        column_family_ = 0
    if ((((<wide> operation_type_ != <wide> 9 and <wide> operation_type_ != <wide> 13) and <wide> operation_type_ != <wide> 18) and <wide> operation_type_ != <wide> 19) and not (((<wide> operation_type_ == <wide> 10 or <wide> operation_type_ == <wide> 11) or <wide> operation_type_ == <wide> 12) or <wide> operation_type_ == <wide> 21)):
        if at < end and (<uint64_t> p[at]) < 0x80:
            key_len_data_ = (<uint64_t> p[at])
            at += 1
        elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
            key_len_data_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
            at += 2
        else:
            at = read_leveldb_varint(p, at, end, &key_len_data_long_)
            if at < 0:
                return -1
            key_len_data_ = key_len_data_long_
        if not (<uint64_t> key_len_data_ <= <uint64_t> (end - at)):
            return -1
        size = <wide> key_len_data_
        key_at_data_ = at
        at += <int64_t> size
        key_end_data_ = at
    else:
        key_at_data_ = 0
        key_end_data_ = 0
    if (((((((((((<wide> operation_type_ == <wide> 1 or <wide> operation_type_ == <wide> 2) or <wide> operation_type_ == <wide> 15) or <wide> operation_type_ == <wide> 17) or <wide> operation_type_ == <wide> 22) or <wide> operation_type_ == <wide> 24) or <wide> operation_type_ == <wide> 5) or <wide> operation_type_ == <wide> 6) or <wide> operation_type_ == <wide> 14) or <wide> operation_type_ == <wide> 16) or <wide> operation_type_ == <wide> 23) or <wide> operation_type_ == <wide> 25):
        if at < end and (<uint64_t> p[at]) < 0x80:
            value_len_data_ = (<uint64_t> p[at])
            at += 1
        elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
            value_len_data_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
            at += 2
        else:
            at = read_leveldb_varint(p, at, end, &value_len_data_long_)
            if at < 0:
                return -1
            value_len_data_ = value_len_data_long_
        if not (<uint64_t> value_len_data_ <= <uint64_t> (end - at)):
            return -1
        size = <wide> value_len_data_
        value_at_data_ = at
        at += <int64_t> size
        value_end_data_ = at
    else:
        value_at_data_ = 0
        value_end_data_ = 0
    if <wide> operation_type_ == <wide> 21:
        if at < end and (<uint64_t> p[at]) < 0x80:
            commit_timestamp_len_data_ = (<uint64_t> p[at])
            at += 1
        elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
            commit_timestamp_len_data_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
            at += 2
        else:
            at = read_leveldb_varint(p, at, end, &commit_timestamp_len_data_long_)
            if at < 0:
                return -1
            commit_timestamp_len_data_ = commit_timestamp_len_data_long_
        if not (<uint64_t> commit_timestamp_len_data_ <= <uint64_t> (end - at)):
            return -1
        size = <wide> commit_timestamp_len_data_
        commit_timestamp_at_data_ = at
        at += <int64_t> size
        commit_timestamp_end_data_ = at
    else:
        commit_timestamp_at_data_ = 0
        commit_timestamp_end_data_ = 0
    if (((<wide> operation_type_ == <wide> 10 or <wide> operation_type_ == <wide> 11) or <wide> operation_type_ == <wide> 12) or <wide> operation_type_ == <wide> 21):
        if at < end and (<uint64_t> p[at]) < 0x80:
            transaction_name_len_data_ = (<uint64_t> p[at])
            at += 1
        elif at + 1 < end and (<uint64_t> p[at + 1]) < 0x80:
            transaction_name_len_data_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
            at += 2
        else:
            at = read_leveldb_varint(p, at, end, &transaction_name_len_data_long_)
            if at < 0:
                return -1
            transaction_name_len_data_ = transaction_name_len_data_long_
        if not (<uint64_t> transaction_name_len_data_ <= <uint64_t> (end - at)):
            return -1
        size = <wide> transaction_name_len_data_
        transaction_name_at_data_ = at
        at += <int64_t> size
        transaction_name_end_data_ = at
    else:
        transaction_name_at_data_ = 0
        transaction_name_end_data_ = 0
    out.operation_type = operation_type_
    out.column_family = column_family_
    out.key_data_start = key_at_data_
    out.key_data_end = key_end_data_
    out.value_data_start = value_at_data_
    out.value_data_end = value_end_data_
    out.commit_timestamp_data_start = commit_timestamp_at_data_
    out.commit_timestamp_data_end = commit_timestamp_end_data_
    out.transaction_name_data_start = transaction_name_at_data_
    out.transaction_name_data_end = transaction_name_end_data_
    out.has_column_family = ((((((<wide> operation_type_ == <wide> 4 or <wide> operation_type_ == <wide> 5) or <wide> operation_type_ == <wide> 6) or <wide> operation_type_ == <wide> 8) or <wide> operation_type_ == <wide> 14) or <wide> operation_type_ == <wide> 16) or <wide> operation_type_ == <wide> 23) or <wide> operation_type_ == <wide> 25
    out.has_key = (((<wide> operation_type_ != <wide> 9 and <wide> operation_type_ != <wide> 13) and <wide> operation_type_ != <wide> 18) and <wide> operation_type_ != <wide> 19) and not (((<wide> operation_type_ == <wide> 10 or <wide> operation_type_ == <wide> 11) or <wide> operation_type_ == <wide> 12) or <wide> operation_type_ == <wide> 21)
    out.has_transaction_name = ((<wide> operation_type_ == <wide> 10 or <wide> operation_type_ == <wide> 11) or <wide> operation_type_ == <wide> 12) or <wide> operation_type_ == <wide> 21
    out.has_value = ((((((((((<wide> operation_type_ == <wide> 1 or <wide> operation_type_ == <wide> 2) or <wide> operation_type_ == <wide> 15) or <wide> operation_type_ == <wide> 17) or <wide> operation_type_ == <wide> 22) or <wide> operation_type_ == <wide> 24) or <wide> operation_type_ == <wide> 5) or <wide> operation_type_ == <wide> 6) or <wide> operation_type_ == <wide> 14) or <wide> operation_type_ == <wide> 16) or <wide> operation_type_ == <wide> 23) or <wide> operation_type_ == <wide> 25
    return at


cdef struct ZsBlock:
    uint64_t len_body
    uint8_t body_level
    int64_t body_payload_start
    int64_t body_payload_end
    uint64_t crc


cdef inline int64_t read_zs_block(const uint8_t *p, int64_t at, int64_t end, ZsBlock *out) noexcept nogil:
    cdef wide size
    cdef uint64_t len_body_ = 0
    cdef uint64_t len_body_long_
    cdef int64_t body_rest_ = 0
    cdef int64_t body_base_ = 0
    cdef uint8_t body_level_ = 0
    cdef int64_t body_at_payload_ = 0
    cdef int64_t body_end_payload_ = 0
    cdef uint32_t crc_low_ = 0
    cdef uint32_t crc_high_ = 0
    cdef uint64_t crc_ = 0
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_body_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) >= 1 and (<uint64_t> p[at + 1]) < 0x80:
        len_body_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_uleb128(p, at, end, &len_body_long_)
        if at < 0:
            return -1
        len_body_ = len_body_long_
    if not (<uint64_t> len_body_ <= <uint64_t> (end - at)):
        return -1
    size = <wide> len_body_
    body_base_ = at
    body_rest_ = end
    end = at + <int64_t> size
    if end - at < 1:
        return -1
    memcpy(&body_level_, p + at, 1)
    at += 1
    body_at_payload_ = at
    at = max(at, end)
    body_end_payload_ = at
    at = end
    end = body_rest_
    if end - at < 4:
        return -1
    memcpy(&crc_low_, p + at, 4)
    at += 4
    if end - at < 4:
        return -1
    memcpy(&crc_high_, p + at, 4)
    at += 4
    crc_ = <uint64_t> ((<wide> crc_high_ * <wide> 4294967296 + <wide> crc_low_))
    out.len_body = len_body_
    out.body_level = body_level_
    out.body_payload_start = body_at_payload_
    out.body_payload_end = body_end_payload_
    out.crc = crc_
    return at


cdef struct ZsDataBlockRecord:
    int64_t data_start
    int64_t data_end


cdef inline int64_t read_zs_data_block_record(const uint8_t *p, int64_t at, int64_t end, ZsDataBlockRecord *out) noexcept nogil:
    cdef wide size
    cdef uint64_t len_data_ = 0
    cdef uint64_t len_data_long_
    cdef int64_t at_data_ = 0
    cdef int64_t end_data_ = 0
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_data_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) >= 1 and (<uint64_t> p[at + 1]) < 0x80:
        len_data_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_uleb128(p, at, end, &len_data_long_)
        if at < 0:
            return -1
        len_data_ = len_data_long_
    if not (<uint64_t> len_data_ <= <uint64_t> (end - at)):
        return -1
    size = <wide> len_data_
    at_data_ = at
    at += <int64_t> size
    end_data_ = at
    out.data_start = at_data_
    out.data_end = end_data_
    return at


cdef struct ZsIndexBlockEntry:
    int64_t key_start
    int64_t key_end
    uint64_t ofs_block
    uint64_t len_block


cdef inline int64_t read_zs_index_block_entry(const uint8_t *p, int64_t at, int64_t end, ZsIndexBlockEntry *out) noexcept nogil:
    cdef wide size
    cdef uint64_t len_key_ = 0
    cdef uint64_t len_key_long_
    cdef int64_t at_key_ = 0
    cdef int64_t end_key_ = 0
    cdef uint64_t ofs_block_ = 0
    cdef uint64_t ofs_block_long_
    cdef uint64_t len_block_ = 0
    cdef uint64_t len_block_long_
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_key_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) >= 1 and (<uint64_t> p[at + 1]) < 0x80:
        len_key_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_uleb128(p, at, end, &len_key_long_)
        if at < 0:
            return -1
        len_key_ = len_key_long_
    if not (<uint64_t> len_key_ <= <uint64_t> (end - at)):
        return -1
    size = <wide> len_key_
    at_key_ = at
    at += <int64_t> size
    end_key_ = at
    if at < end and (<uint64_t> p[at]) < 0x80:
        ofs_block_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) >= 1 and (<uint64_t> p[at + 1]) < 0x80:
        ofs_block_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_uleb128(p, at, end, &ofs_block_long_)
        if at < 0:
            return -1
        ofs_block_ = ofs_block_long_
    if not (<uint64_t> ofs_block_ <= <uint64_t> 9223372036854775807):
        return -1
    if at < end and (<uint64_t> p[at]) < 0x80:
        len_block_ = (<uint64_t> p[at])
        at += 1
    elif at + 1 < end and (<uint64_t> p[at + 1]) >= 1 and (<uint64_t> p[at + 1]) < 0x80:
        len_block_ = (<uint64_t> p[at]) % 0x80 + 0x80 * (<uint64_t> p[at + 1])
        at += 2
    else:
        at = read_uleb128(p, at, end, &len_block_long_)
        if at < 0:
            return -1
        len_block_ = len_block_long_
    if not (<uint64_t> len_block_ <= <uint64_t> 9223372036854775807):
        return -1
    out.key_start = at_key_
    out.key_end = end_key_
    out.ofs_block = ofs_block_
    out.len_block = len_block_
    return at


cdef struct ZstdFrameFrame:
    uint32_t magic
    int64_t skippable_data_start
    int64_t skippable_data_end
    uint8_t body_descriptor_content_size_flag
    uint8_t body_descriptor_is_single_segment
    uint8_t body_descriptor_unused
    uint8_t body_descriptor_reserved
    uint8_t body_descriptor_has_checksum
    uint8_t body_descriptor_dictionary_id_flag
    uint8_t body_window_exponent
    uint8_t body_window_mantissa
    uint8_t body_dictionary_id1
    uint16_t body_dictionary_id2
    uint32_t body_dictionary_id4
    uint8_t body_content_size1
    uint16_t body_content_size2
    uint32_t body_content_size4
    uint64_t body_content_size8
    int64_t body_blocks_start
    int64_t body_blocks_end
    uint32_t body_checksum


cdef inline int64_t read_zstd_frame_frame(const uint8_t *p, int64_t at, int64_t end, ZstdFrameFrame *out) noexcept nogil:
    cdef wide size
    cdef uint32_t magic_ = 0
    cdef int64_t skippable_rest_ = 0
    cdef uint32_t skippable_len_data_ = 0
    cdef int64_t skippable_at_data_ = 0
    cdef int64_t skippable_end_data_ = 0
    cdef int64_t body_rest_ = 0
    cdef int64_t body_descriptor_rest_ = 0
    cdef uint64_t body_descriptor_content_size_flag_bits_ = 0
    cdef uint64_t body_descriptor_content_size_flag_ = 0
    cdef uint64_t body_descriptor_is_single_segment_ = 0
    cdef uint64_t body_descriptor_unused_ = 0
    cdef uint64_t body_descriptor_reserved_ = 0
    cdef uint64_t body_descriptor_has_checksum_ = 0
    cdef uint64_t body_descriptor_dictionary_id_flag_ = 0
    cdef int64_t body_window_rest_ = 0
    cdef uint64_t body_window_exponent_bits_ = 0
    cdef uint64_t body_window_exponent_ = 0
    cdef uint64_t body_window_mantissa_ = 0
    cdef uint8_t body_dictionary_id1_ = 0
    cdef uint16_t body_dictionary_id2_ = 0
    cdef uint32_t body_dictionary_id4_ = 0
    cdef uint8_t body_content_size1_ = 0
    cdef uint16_t body_content_size2_ = 0
    cdef uint32_t body_content_size4_ = 0
    cdef uint64_t body_content_size8_ = 0
    cdef int64_t body_at_blocks_ = 0
    cdef int64_t body_end_blocks_ = 0
    cdef int64_t body_blocks_header_rest_ = 0
    cdef uint64_t body_blocks_header_is_last_bits_ = 0
    cdef uint64_t body_blocks_header_is_last_ = 0
    cdef uint64_t body_blocks_header_kind_ = 0
    cdef uint64_t body_blocks_header_len_block_ = 0
    cdef int64_t body_blocks_content_rest_ = 0
    cdef int64_t body_blocks_content_base_ = 0
    cdef int64_t body_blocks_content_at_data_ = 0
    cdef int64_t body_blocks_content_end_data_ = 0
    cdef uint32_t body_checksum_ = 0
    if end - at < 4:
        return -1
    memcpy(&magic_, p + at, 4)
    at += 4
    if not ((((((((((((((((<uint64_t> magic_ == <uint64_t> 407710288 or <uint64_t> magic_ == <uint64_t> 407710289) or <uint64_t> magic_ == <uint64_t> 407710290) or <uint64_t> magic_ == <uint64_t> 407710291) or <uint64_t> magic_ == <uint64_t> 407710292) or <uint64_t> magic_ == <uint64_t> 407710293) or <uint64_t> magic_ == <uint64_t> 407710294) or <uint64_t> magic_ == <uint64_t> 407710295) or <uint64_t> magic_ == <uint64_t> 407710296) or <uint64_t> magic_ == <uint64_t> 407710297) or <uint64_t> magic_ == <uint64_t> 407710298) or <uint64_t> magic_ == <uint64_t> 407710299) or <uint64_t> magic_ == <uint64_t> 407710300) or <uint64_t> magic_ == <uint64_t> 407710301) or <uint64_t> magic_ == <uint64_t> 407710302) or <uint64_t> magic_ == <uint64_t> 407710303) or <uint64_t> magic_ == <uint64_t> 4247762216):
        return -1
    if <wide> magic_ != <wide> 4247762216:
        if end - at < 4:
            return -1
        memcpy(&skippable_len_data_, p + at, 4)
        at += 4
        if not (<uint64_t> skippable_len_data_ <= <uint64_t> (end - at)):
            return -1
        size = <wide> skippable_len_data_
        skippable_at_data_ = at
        at += <int64_t> size
        skippable_end_data_ = at
    else:
        skippable_at_data_ = 0
        skippable_end_data_ = 0
    if <wide> magic_ == <wide> 4247762216:
        if end - at < 1:
            return -1
        body_descriptor_content_size_flag_bits_ = (<uint64_t> p[at + 0] << 0)
        at += 1
        body_descriptor_content_size_flag_ = (body_descriptor_content_size_flag_bits_ >> 6) & 0x3
        body_descriptor_is_single_segment_ = (body_descriptor_content_size_flag_bits_ >> 5) & 0x1
        body_descriptor_unused_ = (body_descriptor_content_size_flag_bits_ >> 4) & 0x1
        body_descriptor_reserved_ = (body_descriptor_content_size_flag_bits_ >> 3) & 0x1
        body_descriptor_has_checksum_ = (body_descriptor_content_size_flag_bits_ >> 2) & 0x1
        body_descriptor_dictionary_id_flag_ = (body_descriptor_content_size_flag_bits_ >> 0) & 0x3
        if not <wide> body_descriptor_is_single_segment_:
            if end - at < 1:
                return -1
            body_window_exponent_bits_ = (<uint64_t> p[at + 0] << 0)
            at += 1
            body_window_exponent_ = (body_window_exponent_bits_ >> 3) & 0x1f
            body_window_mantissa_ = (body_window_exponent_bits_ >> 0) & 0x7
        else:
            body_window_exponent_ = 0
            body_window_mantissa_ = 0
        if <wide> body_descriptor_dictionary_id_flag_ == <wide> 1:
            if end - at < 1:
                return -1
            memcpy(&body_dictionary_id1_, p + at, 1)
            at += 1
        else:
            body_dictionary_id1_ = 0
        if <wide> body_descriptor_dictionary_id_flag_ == <wide> 2:
            if end - at < 2:
                return -1
            memcpy(&body_dictionary_id2_, p + at, 2)
            at += 2
        else:
            body_dictionary_id2_ = 0
        if <wide> body_descriptor_dictionary_id_flag_ == <wide> 3:
            if end - at < 4:
                return -1
            memcpy(&body_dictionary_id4_, p + at, 4)
            at += 4
        else:
            body_dictionary_id4_ = 0
        if <wide> body_descriptor_content_size_flag_ == <wide> 0 and <wide> body_descriptor_is_single_segment_:
            if end - at < 1:
                return -1
            memcpy(&body_content_size1_, p + at, 1)
            at += 1
        else:
            body_content_size1_ = 0
        if <wide> body_descriptor_content_size_flag_ == <wide> 1:
            if end - at < 2:
                return -1
            memcpy(&body_content_size2_, p + at, 2)
            at += 2
        else:
            body_content_size2_ = 0
        if <wide> body_descriptor_content_size_flag_ == <wide> 2:
            if end - at < 4:
                return -1
            memcpy(&body_content_size4_, p + at, 4)
            at += 4
        else:
            body_content_size4_ = 0
        if <wide> body_descriptor_content_size_flag_ == <wide> 3:
            if end - at < 8:
                return -1
            memcpy(&body_content_size8_, p + at, 8)
            at += 8
        else:
            body_content_size8_ = 0
        body_at_blocks_ = at
        while True:
            if end - at < 3:
                return -1
            body_blocks_header_is_last_bits_ = (<uint64_t> p[at + 0] << 0) | (<uint64_t> p[at + 1] << 8) | (<uint64_t> p[at + 2] << 16)
            at += 3
            body_blocks_header_is_last_ = (body_blocks_header_is_last_bits_ >> 0) & 0x1
            body_blocks_header_kind_ = (body_blocks_header_is_last_bits_ >> 1) & 0x3
            body_blocks_header_len_block_ = (body_blocks_header_is_last_bits_ >> 3) & 0x1fffff
            if not ((<wide> body_blocks_header_kind_ == <wide> 0 or <wide> body_blocks_header_kind_ == <wide> 1) or <wide> body_blocks_header_kind_ == <wide> 2):
                return -1
            size = (<wide> 1 if <wide> body_blocks_header_kind_ == <wide> 1 else <wide> body_blocks_header_len_block_)
            if size < 0 or size > <wide> (end - at):
                return -1
            body_blocks_content_base_ = at
            body_blocks_content_rest_ = end
            end = at + <int64_t> size
            body_blocks_content_at_data_ = at
            at = max(at, end)
            body_blocks_content_end_data_ = at
            at = end
            end = body_blocks_content_rest_
            if <wide> body_blocks_header_is_last_:
                break
        body_end_blocks_ = at
        if <wide> body_descriptor_has_checksum_:
            if end - at < 4:
                return -1
            memcpy(&body_checksum_, p + at, 4)
            at += 4
        else:
            body_checksum_ = 0
    else:
        body_descriptor_content_size_flag_ = 0
        body_descriptor_is_single_segment_ = 0
        body_descriptor_unused_ = 0
        body_descriptor_reserved_ = 0
        body_descriptor_has_checksum_ = 0
        body_descriptor_dictionary_id_flag_ = 0
        body_window_exponent_ = 0
        body_window_mantissa_ = 0
        body_dictionary_id1_ = 0
        body_dictionary_id2_ = 0
        body_dictionary_id4_ = 0
        body_content_size1_ = 0
        body_content_size2_ = 0
        body_content_size4_ = 0
        body_content_size8_ = 0
        body_at_blocks_ = 0
        body_end_blocks_ = 0
        body_checksum_ = 0
    out.magic = magic_
    out.skippable_data_start = skippable_at_data_
    out.skippable_data_end = skippable_end_data_
    out.body_descriptor_content_size_flag = body_descriptor_content_size_flag_
    out.body_descriptor_is_single_segment = body_descriptor_is_single_segment_
    out.body_descriptor_unused = body_descriptor_unused_
    out.body_descriptor_reserved = body_descriptor_reserved_
    out.body_descriptor_has_checksum = body_descriptor_has_checksum_
    out.body_descriptor_dictionary_id_flag = body_descriptor_dictionary_id_flag_
    out.body_window_exponent = body_window_exponent_
    out.body_window_mantissa = body_window_mantissa_
    out.body_dictionary_id1 = body_dictionary_id1_
    out.body_dictionary_id2 = body_dictionary_id2_
    out.body_dictionary_id4 = body_dictionary_id4_
    out.body_content_size1 = body_content_size1_
    out.body_content_size2 = body_content_size2_
    out.body_content_size4 = body_content_size4_
    out.body_content_size8 = body_content_size8_
    out.body_blocks_start = body_at_blocks_
    out.body_blocks_end = body_end_blocks_
    out.body_checksum = body_checksum_
    return at


cdef inline uint64_t clp_kv_ir_decimal_4_num_fraction_digits(uint64_t word) noexcept nogil:
    return (word & 7) + 1


cdef inline uint64_t clp_kv_ir_decimal_4_num_digits(uint64_t word) noexcept nogil:
    return (word >> 3 & 7) + 1


cdef inline uint64_t clp_kv_ir_decimal_4_digits(uint64_t word) noexcept nogil:
    return word >> 6 & 0x1ffffff


cdef inline uint64_t clp_kv_ir_decimal_4_sign(uint64_t word) noexcept nogil:
    return word >> 31


cdef inline uint64_t clp_kv_ir_decimal_8_num_fraction_digits(uint64_t word) noexcept nogil:
    return (word & 15) + 1


cdef inline uint64_t clp_kv_ir_decimal_8_num_digits(uint64_t word) noexcept nogil:
    return (word >> 4 & 15) + 1


cdef inline uint64_t clp_kv_ir_decimal_8_digits(uint64_t word) noexcept nogil:
    return word >> 8 & <uint64_t> 0x3fffffffffffff


cdef inline uint64_t clp_kv_ir_decimal_8_sign(uint64_t word) noexcept nogil:
    return word >> 62 >> 1


cdef inline int64_t clp_s_schema_ids_entry_is_marker(int64_t value) noexcept nogil:
    return value & <int64_t> 0xffffffff >= 0x1000000


cdef inline int64_t clp_s_schema_ids_entry_container_type(int64_t value) noexcept nogil:
    return (value & <int64_t> 0xffffffff) >> 24


cdef inline int64_t clp_s_schema_ids_entry_num_beneath(int64_t value) noexcept nogil:
    return value & <int64_t> 0xffffffff & 0xffffff


cdef inline uint64_t clp_s_table_float_format_notation(uint64_t word) noexcept nogil:
    return word >> 14


cdef inline uint64_t clp_s_table_float_format_exponent_sign(uint64_t word) noexcept nogil:
    return word >> 12 & 3


cdef inline uint64_t clp_s_table_float_format_num_exponent_digits(uint64_t word) noexcept nogil:
    return (word >> 10 & 3) + 1


cdef inline uint64_t clp_s_table_float_format_num_significant_digits(uint64_t word) noexcept nogil:
    return (word >> 5 & 31) + 1


cdef inline uint64_t clp_s_table_clp_word_log_type_id(uint64_t word) noexcept nogil:
    return word & 0xffffff


cdef inline uint64_t clp_s_table_clp_word_ofs_variable(uint64_t word) noexcept nogil:
    return word >> 24


cdef inline uint64_t clp_s_table_decimal_variable_num_fraction_digits(uint64_t word) noexcept nogil:
    return (word & 15) + 1


cdef inline uint64_t clp_s_table_decimal_variable_num_digits(uint64_t word) noexcept nogil:
    return (word >> 4 & 15) + 1


cdef inline uint64_t clp_s_table_decimal_variable_digits(uint64_t word) noexcept nogil:
    return word >> 8 & <uint64_t> 0x3fffffffffffff


cdef inline uint64_t clp_s_table_decimal_variable_sign(uint64_t word) noexcept nogil:
    return word >> 62 >> 1


cdef inline uint64_t clp_s_table_classic_decimal_variable_digits(uint64_t word) noexcept nogil:
    return word & <uint64_t> 0x3fffffffffffff


cdef inline uint64_t clp_s_table_classic_decimal_variable_num_fraction_digits(uint64_t word) noexcept nogil:
    return (word >> 55 & 15) + 1


cdef inline uint64_t clp_s_table_classic_decimal_variable_num_digits(uint64_t word) noexcept nogil:
    return (word >> 59 & 15) + 1


cdef inline uint64_t clp_s_table_classic_decimal_variable_sign(uint64_t word) noexcept nogil:
    return word >> 62 >> 1


cdef inline int64_t clp_s_table_classic_variable_is_id(int64_t value) noexcept nogil:
    return value >= <int64_t> 0x4000000000000000 and value != <int64_t> 0x7fffffffffffffff


cdef inline int64_t clp_s_table_classic_variable_dictionary_id(int64_t value) noexcept nogil:
    return value - <int64_t> 0x4000000000000000


cdef inline int64_t clp_s_table_classic_variable_first_id(int64_t value) noexcept nogil:
    return <int64_t> 0x4000000000000000


ELEMENTS = '7aab7e5cde709898'
