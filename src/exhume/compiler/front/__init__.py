"""From YAML to a model: names, types, expressions, and whether a specification is right."""
