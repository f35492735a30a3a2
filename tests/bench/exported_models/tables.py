"""Recurrent networks, recommenders, state spaces, experts, tables and trees."""
import numpy as np
import torch
from registry import add, model
from torch import nn
from torch.nn import functional


def recurrent(name, about, cls, **more):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = getattr(nn, cls)(128, 256, batch_first=True, **more)
            self.out = nn.Linear(512 if more.get("bidirectional") else 256, 32)

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    add(name, about, lambda: (Net(), (torch.randn(1, 64, 128),)))


recurrent("lstm", "two layers of LSTM, 64 steps", "LSTM", num_layers=2)
recurrent("gru", "two layers of GRU, 64 steps", "GRU", num_layers=2)
recurrent("bilstm", "bidirectional LSTM, 64 steps", "LSTM", bidirectional=True)


@model("temporal convolutional network, dilated causal convolutions")
def tcn():
    class Block(nn.Module):
        def __init__(self, c, m, dilation):
            super().__init__()
            self.pad = nn.ConstantPad1d((2 * dilation, 0), 0.0)
            self.a, self.b = nn.Conv1d(c, m, 3, dilation=dilation), nn.Conv1d(m, m, 3, dilation=dilation)
            self.skip = nn.Conv1d(c, m, 1) if c != m else nn.Identity()

        def forward(self, x):
            y = torch.relu(self.a(self.pad(x)))
            return torch.relu(torch.relu(self.b(self.pad(y))) + self.skip(x))

    return nn.Sequential(*[Block(16 if i == 0 else 64, 64, 1 << i) for i in range(6)], nn.Conv1d(64, 10, 1)), (torch.randn(1, 16, 400),)


@model("Conv-TasNet, separation of sources: 1-D convolutions, gLN, transposed convolution")
def conv_tasnet():
    class Block(nn.Module):
        def __init__(self, c, m, dilation):
            super().__init__()
            self.steps = nn.Sequential(nn.Conv1d(c, m, 1), nn.PReLU(), nn.GroupNorm(1, m), nn.Conv1d(m, m, 3, padding=dilation, dilation=dilation, groups=m),
                                       nn.PReLU(), nn.GroupNorm(1, m), nn.Conv1d(m, c, 1))

        def forward(self, x):
            return x + self.steps(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Conv1d(1, 256, 20, 10, bias=False), nn.ConvTranspose1d(256, 1, 20, 10, bias=False)
            self.norm, self.first = nn.GroupNorm(1, 256), nn.Conv1d(256, 128, 1)
            self.blocks = nn.Sequential(*[Block(128, 256, 1 << i) for _ in range(2) for i in range(6)])
            self.mask = nn.Sequential(nn.PReLU(), nn.Conv1d(128, 512, 1), nn.Sigmoid())

        def forward(self, x):
            w = self.encode(x)
            masks = self.mask(self.blocks(self.first(self.norm(w)))).view(2, 256, -1)
            return self.decode(masks * w)

    return Net(), (torch.randn(1, 1, 8010),)


@model("keyword spotting, depthwise separable convolutions")
def ds_cnn():
    steps = [nn.Conv2d(1, 64, (10, 4), 2, (5, 1)), nn.BatchNorm2d(64), nn.ReLU()]
    for _ in range(4):
        steps += [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*steps, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12)), (torch.randn(1, 1, 49, 10),)


@model("Mamba block, a scan over 64 steps that is unrolled")
def mamba():
    class Net(nn.Module):
        def __init__(self, c=256, state=16, rank=16):
            super().__init__()
            inner = 2 * c
            self.norm, self.enter, self.leave = nn.LayerNorm(c), nn.Linear(c, 2 * inner, bias=False), nn.Linear(inner, c, bias=False)
            self.conv = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
            self.x_proj, self.dt = nn.Linear(inner, rank + 2 * state, bias=False), nn.Linear(rank, inner)
            self.a = nn.Parameter(torch.log(torch.arange(1, state + 1).float().repeat(inner, 1)))
            self.d = nn.Parameter(torch.ones(inner))
            self.split = [rank, state, state]

        def forward(self, u):
            x, z = self.enter(self.norm(u)).chunk(2, -1)
            x = functional.silu(self.conv(x.transpose(1, 2))[..., : u.shape[1]]).transpose(1, 2)
            dt, b, c = self.x_proj(x).split(self.split, -1)
            dt = functional.softplus(self.dt(dt))
            da = torch.exp(dt[..., None] * -torch.exp(self.a))
            dbx = dt[..., None] * b[:, :, None] * x[..., None]
            h, ys = torch.zeros_like(da[:, 0]), []
            for t in range(u.shape[1]):
                h = da[:, t] * h + dbx[:, t]
                ys.append((h * c[:, t, None]).sum(-1))
            y = torch.stack(ys, 1) + x * self.d
            return u + self.leave(y * functional.silu(z))

    return Net(), (torch.randn(1, 64, 256),)


@model("mixture of 8 experts, 16 tokens, weights of two experts a token")
def moe():
    class Net(nn.Module):
        def __init__(self, c=256, m=1024, experts=8):
            super().__init__()
            self.gate = nn.Linear(c, experts)
            self.up, self.down = nn.Parameter(torch.randn(experts, c, m) / 16), nn.Parameter(torch.randn(experts, m, c) / 32)

        def forward(self, x):
            best, chosen = torch.softmax(self.gate(x), -1).topk(2, -1)
            share = torch.zeros(x.shape[0], 8).scatter(1, chosen, best)
            y = functional.silu(x[None] @ self.up) @ self.down
            return x + (share.t()[..., None] * y).sum(0)

    return Net(), (torch.randn(16, 256),)


@model("DLRM, tables of embeddings and products of pairs, 32 rows")
def dlrm():
    class Net(nn.Module):
        def __init__(self, tables=26, width=32):
            super().__init__()
            mlp = lambda *w: nn.Sequential(*[s for c, m in zip(w, w[1:]) for s in (nn.Linear(c, m), nn.ReLU())])
            self.tables = nn.ModuleList(nn.Embedding(1000, width) for _ in range(tables))
            self.bottom = mlp(13, 256, 128, width)
            self.top = nn.Sequential(mlp(width + (tables + 1) * tables // 2, 256, 128), nn.Linear(128, 1), nn.Sigmoid())
            rows, columns = np.tril_indices(tables + 1, -1)
            self.register_buffer("pairs", torch.tensor(rows * (tables + 1) + columns))

        def forward(self, dense, sparse):
            x = self.bottom(dense)
            e = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
            products = (e @ e.transpose(1, 2)).flatten(1)[:, self.pairs]
            return self.top(torch.cat([x, products], 1))

    return Net(), (torch.randn(32, 13), torch.randint(0, 1000, (32, 26)))


@model("wide and deep recommender, 64 rows")
def wide_and_deep():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.deep_table, self.wide_table = nn.Embedding(10000, 16), nn.Embedding(10000, 1)
            self.deep = nn.Sequential(nn.Linear(20 * 16 + 10, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))

        def forward(self, ids, numbers):
            deep = self.deep(torch.cat([self.deep_table(ids).flatten(1), numbers], 1))
            return torch.sigmoid(deep + self.wide_table(ids).sum(1))

    return Net(), (torch.randint(0, 10000, (64, 20)), torch.randn(64, 10))


@model("TabTransformer, attention over columns, 32 rows")
def tab_transformer():
    class Net(nn.Module):
        def __init__(self, columns=12, width=32):
            super().__init__()
            self.table = nn.Embedding(columns * 50, width)
            self.body = nn.ModuleList(nn.TransformerEncoderLayer(width, 4, 128, batch_first=True, norm_first=True) for _ in range(3))
            self.out = nn.Sequential(nn.Linear(columns * width + 6, 256), nn.ReLU(), nn.Linear(256, 2))
            self.register_buffer("start", torch.arange(columns) * 50)

        def forward(self, ids, numbers):
            x = self.table(ids + self.start)
            for layer in self.body:
                x = x + layer.self_attn(*[layer.norm1(x)] * 3, need_weights=False)[0]
                x = x + layer.linear2(torch.relu(layer.linear1(layer.norm2(x))))
            return self.out(torch.cat([x.flatten(1), numbers], 1))

    return Net(), (torch.randint(0, 50, (32, 12)), torch.randn(32, 6))


@model("graph convolutions over a dense adjacency of 256 nodes")
def gcn():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(c, m) for c, m in ((64, 128), (128, 128), (128, 16)))

        def forward(self, x, adjacency):
            a = adjacency / (adjacency.sum(-1, keepdim=True) + 1e-6)
            for i, layer in enumerate(self.layers):
                x = layer(a @ x)
                x = torch.relu(x) if i < 2 else torch.log_softmax(x, -1)
            return x

    return Net(), (torch.randn(256, 64), torch.rand(256, 256))


@model("variational autoencoder of perceptrons, 16 rows")
def vae_mlp():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter = nn.Sequential(nn.Linear(784, 400), nn.ReLU())
            self.mean, self.spread = nn.Linear(400, 20), nn.Linear(400, 20)
            self.leave = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid())

        def forward(self, x, noise):
            h = self.enter(x)
            return self.leave(self.mean(h) + noise * torch.exp(0.5 * self.spread(h)))

    return Net(), (torch.randn(16, 784), torch.randn(16, 20))


def table_data(classes):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2000, 20)).astype(np.float32)
    y = np.tanh(x[:, 0] * x[:, 1]) + np.sin(x[:, 2]) + 0.1 * rng.standard_normal(2000)
    return x, np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)) if classes else y


def boosted(classes, rows):
    """A LightGBM model of 100 trees."""
    import lightgbm
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    x, y = table_data(classes)
    cls = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    trained = cls(n_estimators=100, verbose=-1, n_jobs=1).fit(x, y)
    more = {"zipmap": False} if classes else {}
    return onnxmltools.convert_lightgbm(trained, initial_types=[("x", FloatTensorType([rows, 20]))], target_opset=15, **more)


def forest(rows):
    """A random forest of 100 trees."""
    import skl2onnx
    import sklearn.ensemble

    x, y = table_data(3)
    trained = sklearn.ensemble.RandomForestClassifier(100, max_depth=8, random_state=1).fit(x, y)
    initial = [("x", skl2onnx.common.data_types.FloatTensorType([rows, 20]))]
    return skl2onnx.convert_sklearn(trained, initial_types=initial, target_opset=15, options={"zipmap": False})


add("lightgbm_regressor", "100 boosted trees, 16 rows, LightGBM", lambda: boosted(0, 16))
add("lightgbm_classifier", "100 boosted trees for each of 4 classes, one row, LightGBM", lambda: boosted(4, 1))
add("random_forest", "100 trees, 64 rows, scikit-learn", lambda: forest(64))
