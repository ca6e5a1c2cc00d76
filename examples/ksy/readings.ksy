meta:
  id: readings
  title: Readings of a weather station
  endian: le
  encoding: UTF-8
doc: What a small station keeps of a day.
seq:
  - id: magic
    contents: WX
  - id: len_station
    type: u1
    valid:
      max: 40
  - id: station
    type: str
    size: len_station
    doc: The name of the place.
  - id: num_readings
    type: u2
  - id: readings
    type: reading
    repeat: expr
    repeat-expr: num_readings
types:
  reading:
    seq:
      - id: time
        type: u4
        doc: Seconds since midnight.
        valid:
          max: 86_399
      - id: temperature
        type: s2
        doc: Hundredths of a degree Celsius.
      - id: wind
        type: u1
        enum: winds
    instances:
      celsius:
        value: temperature / 100.0
enums:
  winds:
    0: calm
    1:
      id: breeze
      doc: Leaves move.
    2: storm
