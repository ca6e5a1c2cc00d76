meta:
  id: uleb128
  title: Unsigned LEB128 integer, shortest form only
  xref:
    justsolve: Variable-length_quantity
    wikidata: Q6457577
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.11'
  endian: le
doc: |
  A variable-length unsigned integer of at most 64 bits: seven bits per byte,
  least significant group first, the top bit set on every byte but the last.

  Only the shortest form is accepted, as the formats that use it demand. A last
  byte of zero after others (`80 00`) and anything beyond 64 bits are refused.

  The groups are fields of their own, not an array, because a check of what an
  array repeats until its end does not compile in Java, C# and Perl. The value is
  summed by multiplication, because shifts are cut to 32 bits in JavaScript.
  There it is exact up to 2^53, everywhere else up to 2^64 - 1.
doc-ref: https://en.wikipedia.org/wiki/LEB128 Unsigned LEB128
-webide-representation: '{value:dec}'
-scalar: value
seq:
  - id: group0
    type: u1
    doc: The lowest seven bits; 0x80 is set when another group follows.
  - id: group1
    type: u1
    valid:
      min: 1
    if: group0 >= 0x80
  - id: group2
    type: u1
    valid:
      min: 1
    if: group0 >= 0x80 and group1 >= 0x80
  - id: group3
    type: u1
    valid:
      min: 1
    if: group0 >= 0x80 and group1 >= 0x80 and group2 >= 0x80
  - id: group4
    type: u1
    valid:
      min: 1
    if: group0 >= 0x80 and group1 >= 0x80 and group2 >= 0x80 and group3 >= 0x80
  - id: group5
    type: u1
    valid:
      min: 1
    if: group0 >= 0x80 and group1 >= 0x80 and group2 >= 0x80 and group3 >= 0x80 and group4 >= 0x80
  - id: group6
    type: u1
    valid:
      min: 1
    if: >-
      group0 >= 0x80 and group1 >= 0x80 and group2 >= 0x80 and group3 >= 0x80 and group4 >= 0x80
      and group5 >= 0x80
  - id: group7
    type: u1
    valid:
      min: 1
    if: >-
      group0 >= 0x80 and group1 >= 0x80 and group2 >= 0x80 and group3 >= 0x80 and group4 >= 0x80
      and group5 >= 0x80 and group6 >= 0x80
  - id: group8
    type: u1
    valid:
      min: 1
    if: >-
      group0 >= 0x80 and group1 >= 0x80 and group2 >= 0x80 and group3 >= 0x80 and group4 >= 0x80
      and group5 >= 0x80 and group6 >= 0x80 and group7 >= 0x80
  - id: group9
    type: u1
    valid: 1
    if: >-
      group0 >= 0x80 and group1 >= 0x80 and group2 >= 0x80 and group3 >= 0x80 and group4 >= 0x80
      and group5 >= 0x80 and group6 >= 0x80 and group7 >= 0x80 and group8 >= 0x80
    doc: Bit 63, the last that fits into 64 bits.
instances:
  value:
    value: |
      (
      (group0.as<u1> % 0x80).as<u8> + (group0 < 0x80 ? (0).as<u8> : 0x80 * (
      (group1.as<u1> % 0x80).as<u8> + (group1 < 0x80 ? (0).as<u8> : 0x80 * (
      (group2.as<u1> % 0x80).as<u8> + (group2 < 0x80 ? (0).as<u8> : 0x80 * (
      (group3.as<u1> % 0x80).as<u8> + (group3 < 0x80 ? (0).as<u8> : 0x80 * (
      (group4.as<u1> % 0x80).as<u8> + (group4 < 0x80 ? (0).as<u8> : 0x80 * (
      (group5.as<u1> % 0x80).as<u8> + (group5 < 0x80 ? (0).as<u8> : 0x80 * (
      (group6.as<u1> % 0x80).as<u8> + (group6 < 0x80 ? (0).as<u8> : 0x80 * (
      (group7.as<u1> % 0x80).as<u8> + (group7 < 0x80 ? (0).as<u8> : 0x80 * (
      (group8.as<u1> % 0x80).as<u8> + (group8 < 0x80 ? (0).as<u8> : 0x80 * (
      group9.as<u8>))))))))))))))))))).as<u8>
    doc: The integer itself.
    -webide-parse-mode: eager
