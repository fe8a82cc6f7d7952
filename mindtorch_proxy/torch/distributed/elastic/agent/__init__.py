"""Starting processes, watching them, starting them again."""
