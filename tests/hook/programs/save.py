import torch
from torch import nn

torch.manual_seed(0)

import io

m = nn.Linear(3, 2)
f = io.BytesIO()
torch.save(m.state_dict(), f)
f.seek(0)
n = nn.Linear(3, 2)
n.load_state_dict(torch.load(f))
print(n(torch.ones(3)))
