# What imports every specification beside it, so that one extension module has the readers of all.
meta:
  id: all_of_them
  imports: [bit_fields, choice, coded, computed, counted, elsewhere, enums, given, marked, numbers, optional, outward_rows, packed, recursive, rows, ruled, sized_rows, some_bytes, texts, to_the_end, two_orders, until, upward, wide_rows, words_of_others]
seq:
  - {id: which, type: u1}
