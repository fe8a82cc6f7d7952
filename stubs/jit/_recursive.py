"""Types of script modules: none is ever made."""


class ConcreteTypeStore:
    """The types that were made, by class."""
    def __init__(self):
        self.type_store, self.methods_compiled = {}, set()


concrete_type_store = ConcreteTypeStore()
