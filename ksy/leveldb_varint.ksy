meta:
  id: leveldb_varint
  title: LevelDB variable-length integer
  tags:
    - database
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  An unsigned integer of at most 64 bits: seven bits per byte, least significant
  group first, the top bit set on every byte but the last. Protocol Buffers use
  the same encoding.

  Unlike in some other formats a longer form than needed (`80 00`) is accepted,
  because every reader of the LevelDB family accepts it. Ten bytes hold 70 bits;
  what passes 64 is refused.

  The value is summed by multiplication, because shifts are cut to 32 bits in
  JavaScript. There it is exact up to 2^53, everywhere else up to 2^64 - 1.
doc-ref: https://github.com/google/leveldb/blob/main/util/coding.cc GetVarint64Ptr
-webide-representation: '{value:dec}'
seq:
  - id: groups
    type: u1
    valid:
      expr: '_index < 9 or (_index == 9 and _ <= 1)'
    repeat: until
    repeat-until: _ < 0x80
    doc: Seven bits of the value each; 0x80 is set when another group follows.
instances:
  len:
    value: groups.size
    doc: Bytes taken, 1 to 10.
  value:
    value: |
      (groups[0] % 128)
      + (len > 1 ? (groups[1] % 128) * 0x80 : 0)
      + (len > 2 ? (groups[2] % 128) * 0x4000 : 0)
      + (len > 3 ? (groups[3] % 128) * 0x200000 : 0)
      + (len > 4 ? (groups[4] % 128) * 0x10000000 : 0)
      + (len > 5 ? (groups[5] % 128) * 0x800000000 : 0)
      + (len > 6 ? (groups[6] % 128) * 0x40000000000 : 0)
      + (len > 7 ? (groups[7] % 128) * 0x2000000000000 : 0)
      + (len > 8 ? (groups[8] % 128) * 0x100000000000000 : 0)
      + (len > 9 ? (groups[9] % 128) * 0x8000000000000000 : 0)
    doc: The integer itself.
