"""rbuf, the serialization of the Ark framework: registries, a decoder, an encoder and an IDL parser.

Usable without a log:

    registry = idl.load_registry(json_or_idl_text)
    data = encoder.encoder_for(registry, "ns::Type").encode({"x": 1.5})
    value = decoder.decoder_for(registry, "ns::Type").decode(data)
"""
