"""torch.jit._recursive: the store of compiled types, which stays empty."""


class ConcreteTypeStore:
    """The types of compiled modules, by Python class."""

    def __init__(self):
        self.type_store, self.methods_compiled = {}, set()


concrete_type_store = ConcreteTypeStore()
