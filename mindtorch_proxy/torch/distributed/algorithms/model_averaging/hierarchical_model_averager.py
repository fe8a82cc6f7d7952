"""Averages parameters within small groups often, and within large groups rarely."""

from collections import OrderedDict

import torch.distributed as dist
import torch.distributed.algorithms.model_averaging.averagers as averagers
import torch.distributed.algorithms.model_averaging.utils as utils


class HierarchicalModelAverager(averagers.ModelAverager):
    """Averages over groups of different sizes with different periods.

    ``period_group_size_dict`` maps a period in steps to the size of the groups that average then. The last group must
    be the whole process group.
    """

    def __init__(self, period_group_size_dict=None, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        if self._periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        whole, largest = dist.get_world_size(self.process_group), list(period_group_size_dict.values())[-1]
        if largest != whole:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {largest} must be equal to the size of arg "
                f"``process_group`` {whole}."
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        self.period_process_group_dict = OrderedDict()
        for period, size in period_group_size_dict.items():
            group = (
                self.process_group
                if size == whole
                else dist.new_subgroups(group_size=size, group=self.process_group)[0]
            )
            self.period_process_group_dict[period] = group

    def _find_process_group(self):
        return next((self.period_process_group_dict[p] for p in reversed(self._periods) if self.step % p == 0), None)

    def average_parameters(self, params):
        """Average parameters or parameter groups over the largest group whose period is due."""
        if self.step >= self.warmup_steps and (group := self._find_process_group()) is not None:
            utils.average_parameters_or_parameter_groups(params, group)
        self.step += 1
