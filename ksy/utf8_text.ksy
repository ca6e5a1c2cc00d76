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
  Text whose size is stored elsewhere. It is decoded on first use, so that
  bytes that are not UTF-8 do not prevent reading anything else.
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
