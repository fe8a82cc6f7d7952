"""L-BFGS."""

import torch

from .optimizer import Optimizer, _check_options, _number, _options, _to_scalar

__all__ = ["LBFGS"]


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Return the minimum, within bounds, of the cubic through two points with these values and slopes."""
    low, high = bounds or sorted((x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        best = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        best = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(best, low), high)


def _strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """Search for a step t along d that satisfies the strong Wolfe conditions.

    Return (loss, gradient, t, number of evaluations). Internally, a point is (t, loss, gradient, slope along d).
    """

    def evaluate(t):
        f_new, g_new = obj_func(x, t, d)
        return t, f_new, g_new.clone(), g_new.dot(d).item()

    d_norm = d.abs().max().item()
    start = previous = 0, f, g.clone(), gtd
    point = evaluate(t)
    evaluations, iteration, done = 1, 0, False
    # Phase 1: increase t until two points enclose a minimum
    while iteration < max_ls:
        t, f_new, _, slope = point
        if f_new > f + c1 * t * gtd or iteration > 1 and f_new >= previous[1]:
            bracket = [previous, point]
            break
        if abs(slope) <= -c2 * gtd:
            bracket, done = [point], True
            break
        if slope >= 0:
            bracket = [previous, point]
            break
        bounds = t + 0.01 * (t - previous[0]), t * 10
        t_next = _cubic_interpolate(previous[0], previous[1], previous[3], t, f_new, slope, bounds=bounds)
        previous, point = point, evaluate(t_next)
        evaluations += 1
        iteration += 1
    else:
        bracket = [start, point]

    # Phase 2: narrow the bracket, whose first point has the lower loss
    bracket.sort(key=lambda p: p[1])
    stalled = False
    while not done and iteration < max_ls:
        low, high = bracket
        left, right = sorted((low[0], high[0]))
        if abs(high[0] - low[0]) * d_norm < tolerance_change:
            break
        t = _cubic_interpolate(low[0], low[1], low[3], high[0], high[1], high[3])
        # If the step is near one end twice, move it inwards.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        point = evaluate(t)
        evaluations += 1
        iteration += 1
        _, f_new, _, slope = point
        if f_new > f + c1 * t * gtd or f_new >= low[1]:
            bracket = sorted([low, point], key=lambda p: p[1])
        else:
            if abs(slope) <= -c2 * gtd:
                done = True
            elif slope * (high[0] - low[0]) >= 0:
                high = low
            bracket = [point, high]
    t, f_new, g_new, _ = bracket[0]
    return f_new, g_new, t, evaluations


_ORDER = (
    "d",
    "t",
    "old_dirs",
    "old_stps",
    "ro",
    "H_diag",
    "prev_flat_grad",
    "prev_loss",
)  # order of the state's entries in PyTorch's files


class LBFGS(Optimizer):
    """Limited-memory BFGS; step needs a closure that computes the loss and its gradients."""

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        _check_options(lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, _options(locals()))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    @staticmethod
    def _flat(t):
        return (torch.view_as_real(t) if t.is_complex() else t).reshape(-1)

    def _numel(self):
        if self._numel_cache is None:
            self._numel_cache = sum(p.numel() * (1 + p.is_complex()) for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self):
        grads = (
            torch.zeros_like(p) if p.grad is None else p.grad.to_dense() if p.grad.is_sparse else p.grad
            for p in self._params
        )
        return torch.cat([self._flat(g) for g in grads])

    def _add_grad(self, step_size, update):
        start = 0
        for p in self._params:
            p = torch.view_as_real(p) if p.is_complex() else p
            p.add_(update[start : start + p.numel()].view_as(p), alpha=step_size)
            start += p.numel()

    def _directional_evaluate(self, closure, x, t, d):
        self._add_grad(t, d)
        loss = float(closure())
        grad = self._gather_flat_grad()
        for p, old in zip(self._params, x):
            p.copy_(old)
        return loss, grad

    @staticmethod
    def _direction(state, grad, t, history_size):
        """Return the next direction, from the stored differences of gradients and steps."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = grad.sub(state["prev_flat_grad"]), state["d"].mul(t)
        ys = y.dot(s)
        if ys > 1e-10:
            if len(dirs) == history_size:
                for old in (dirs, steps, ro):
                    old.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        al = state.setdefault("al", [None] * history_size)
        q = grad.neg()
        for i in reversed(range(len(dirs))):
            al[i] = steps[i].dot(q) * ro[i]
            q.add_(dirs[i], alpha=-al[i].item())
        d = torch.mul(q, state["H_diag"])
        for i in range(len(dirs)):
            d.add_(steps[i], alpha=(al[i] - dirs[i].dot(d) * ro[i]).item())
        return d

    @torch.no_grad()
    def step(self, closure):
        """Run up to max_iter iterations and return the loss at the start."""
        closure, group = torch.enable_grad()(closure), self.param_groups[0]
        lr, line_search = _number(_to_scalar(group["lr"])), group["line_search_fn"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations, iterations = float(first_loss), 1, 0
        state["func_evals"] += 1
        grad = self._gather_flat_grad()
        flat = bool(grad.abs().max() <= group["tolerance_grad"])
        if flat:
            return first_loss
        t = state.get("t")
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            d = state["d"] = self._direction(state, grad, t, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            total = grad.abs().sum().item() if state["n_iter"] == 1 else 0.0
            t = min(1.0, 1.0 / total) * lr if total else lr
            slope = grad.dot(d).item()
            if slope > -group["tolerance_change"]:
                break
            used = 0
            if line_search is not None:
                if line_search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                loss, grad, t, used = _strong_wolfe(
                    lambda *args: self._directional_evaluate(closure, *args),
                    [p.clone() for p in self._params],
                    t,
                    d,
                    loss,
                    grad,
                    slope,
                    max_ls=group["max_eval"] - evaluations,
                )
                self._add_grad(t, d)
            else:
                self._add_grad(t, d)
                if iterations != group["max_iter"]:
                    loss, used = float(closure()), 1
                    grad = self._gather_flat_grad()
            flat = bool(grad.abs().max() <= group["tolerance_grad"])
            evaluations += used
            state["func_evals"] += used
            if (
                evaluations >= group["max_eval"]
                or flat
                or d.mul(t).abs().max() <= group["tolerance_change"]
                or abs(loss - state["prev_loss"]) < group["tolerance_change"]
            ):
                break
        state["t"] = t
        state.update({k: state.pop(k) for k in _ORDER if k in state})
        return first_loss
