"""The engines of the verbs, each written once for all formats.

They live in a package of their own because the public functions carry the verbs' names: `exhume.verify` is a function,
`exhume.engines.verify` the module.
"""
