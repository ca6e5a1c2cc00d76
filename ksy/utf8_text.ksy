meta:
  id: utf8_text
  title: Text in UTF-8 that fills its stream
  xref:
    rfc: 3629
    wikidata: Q193537
  tags:
    - serialization
  license: CC0-1.0
  ks-version: '0.10'
doc: |
  Text whose size something else has told. It is decoded when it is asked for, so
  that bytes which are no UTF-8 keep nothing else from being read.
doc-ref: https://www.rfc-editor.org/rfc/rfc3629
-webide-representation: '{text}'
seq:
  - id: bytes
    -lint-ok: A text is all that its stream holds.
    size-eos: true
instances:
  text:
    value: bytes.to_s("UTF-8")
    doc: The same as text.
    -webide-parse-mode: eager
