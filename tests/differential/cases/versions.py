"""Version counters: what every in-place method counts on the tensor that it writes to, and on the base of that view."""


def case_versions_of_in_place_methods(torch):
    def arguments(dtype):
        t = (torch.arange(8).reshape(2, 4) + 1).to(dtype)
        rows, places, mask = (
            torch.tensor([0, 1]),
            torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]]),
            torch.tensor([[True, False] * 2] * 2),
        )
        yield from (
            [],
            [2],
            [0.5],
            [t],
            [t, t],
            [t, 2],
            [1, 2],
            [0, 1],
            [2, 0.5],
            [(2, 4)],
            [(4, 2), (1, 4)],
            [2, t, t],
        )
        yield from (
            [0, places, t],
            [0, places, 1.0],
            [0, rows, t],
            [0, rows, 1.0],
            [mask, 2.0],
            [mask, t],
            [(rows,), t],
            [t, "sum"],
            [torch.device("cpu")],
        )

    found = {}
    for name in sorted(
        n for n in dir(torch.Tensor) if n.endswith("_") and not n.endswith("__") and not n.startswith("_")
    ):
        for dtype in (torch.float32, torch.int64):
            for i, given in enumerate(arguments(dtype)):
                base = (torch.arange(12).reshape(3, 4) + 1).to(dtype)
                x = base[1:]
                try:
                    getattr(x, name)(*given)
                except Exception:
                    continue
                found[f"{name} {dtype} {i}"] = [x._version, base._version]
    return found
