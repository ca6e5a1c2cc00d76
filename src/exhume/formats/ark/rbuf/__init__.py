"""rbuf, the serialization of the Ark framework: registries, a decoder, an encoder and an IDL parser.

A registry has the schemas of object types; IDL is the text form in which people write schemas.

Usable without a log:

    registry = idl.load_registry(json_or_idl_text)
    data = encoder.encoder_for(registry, "ns::Type").encode({"x": 1.5})
    value = decoder.decoder_for(registry, "ns::Type").decode(data)
"""
