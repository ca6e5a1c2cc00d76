"""Output for people who read it on a terminal: colors, tables that fit its width, hex dumps, the browser."""
