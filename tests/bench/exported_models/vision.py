"""Models of torchvision and timm, and detectors, segmentation and generators in their style."""
import timm
import torch
import torchvision
from registry import add, image, model
from torch import nn
from torch.nn import functional


def torchvision_model(name, about, size=224, prefix="models"):
    builder = getattr(torchvision.models, name, None) or getattr(getattr(torchvision.models, prefix), name)
    more = {"weights_backbone": None} if prefix != "models" else {}
    more |= {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    more |= {"aux_logits": False} if name == "googlenet" else {}
    add(name, about, lambda: (builder(weights=None, **more), image(size)))


def timm_model(name, about, size=224):
    add(name, about, lambda: (timm.create_model(name, pretrained=False), image(size)))


torchvision_model("resnet18", "residual network, torchvision")
torchvision_model("resnext50_32x4d", "32 groups of 4 channels, torchvision")
torchvision_model("regnet_y_400mf", "groups of 8 channels, squeeze and excitation, torchvision")
torchvision_model("regnet_x_1_6gf", "groups of 24 channels, torchvision")
torchvision_model("efficientnet_b0", "depthwise convolutions, SiLU, squeeze and excitation, torchvision")
torchvision_model("efficientnet_v2_s", "fused inverted bottlenecks, torchvision")
torchvision_model("convnext_tiny", "depthwise 7x7, LayerNorm, torchvision")
torchvision_model("swin_t", "shifted windows, torchvision")
torchvision_model("swin_v2_t", "cosine attention in windows, torchvision")
torchvision_model("densenet121", "concatenation of all layers, torchvision")
torchvision_model("inception_v3", "1x7 and 7x1 convolutions, average pools, torchvision", 299)
torchvision_model("googlenet", "branches and concatenation, torchvision")
torchvision_model("shufflenet_v2_x1_0", "channel shuffle, torchvision")
torchvision_model("squeezenet1_1", "fire modules, torchvision")
torchvision_model("mobilenet_v2", "inverted residuals, torchvision")
torchvision_model("mobilenet_v3_small", "HardSwish, squeeze and excitation, torchvision")
torchvision_model("mnasnet1_0", "5x5 depthwise convolutions, torchvision")
torchvision_model("deeplabv3_mobilenet_v3_large", "dilated convolutions, segmentation, torchvision", 256, "segmentation")
torchvision_model("lraspp_mobilenet_v3_large", "segmentation, torchvision", 256, "segmentation")
torchvision_model("ssdlite320_mobilenet_v3_large", "detector with NonMaxSuppression, torchvision", 320, "detection")
add("r2plus1d_18", "video, factored 3-D convolutions, torchvision",
    lambda: (torchvision.models.video.r2plus1d_18(weights=None), (torch.randn(1, 3, 8, 112, 112),)))

timm_model("vit_small_patch16_224", "vision transformer, timm")
timm_model("mixer_s16_224", "MLP-Mixer, timm")
timm_model("efficientformer_l1", "pools as token mixers and attention, timm")
timm_model("ghostnet_100", "cheap depthwise features, timm")
timm_model("levit_128s", "attention with BatchNormalization, timm")
timm_model("mobilevit_xs", "convolutions and attention over patches, timm", 256)
timm_model("repvgg_a0", "plain 3x3 convolutions in three branches, timm")
timm_model("hrnet_w18_small", "parallel resolutions, timm")
timm_model("pvt_v2_b0", "attention over reduced keys, timm")
timm_model("convmixer_768_32", "9x9 depthwise convolutions at constant width, timm")
timm_model("res2net50_14w_8s", "hierarchical groups in a block, timm")


def conv_block(c, m, k=3, stride=1, group=1, dilation=1, act=nn.SiLU):
    return nn.Sequential(nn.Conv2d(c, m, k, stride, (k - 1) // 2 * dilation, dilation, group, bias=False), nn.BatchNorm2d(m), act())


class Csp(nn.Module):
    """The C3 block of YOLOv5."""

    def __init__(self, c, m, n, shortcut=True):
        super().__init__()
        self.a, self.b, self.out = conv_block(c, m // 2, 1), conv_block(c, m // 2, 1), conv_block(m, m, 1)
        self.steps = nn.ModuleList(nn.Sequential(conv_block(m // 2, m // 2, 1), conv_block(m // 2, m // 2)) for _ in range(n))
        self.shortcut = shortcut

    def forward(self, x):
        y = self.a(x)
        for step in self.steps:
            y = y + step(y) if self.shortcut else step(y)
        return self.out(torch.cat([y, self.b(x)], 1))


class Sppf(nn.Module):
    """Three max pools of 5x5, one after the other."""

    def __init__(self, c):
        super().__init__()
        self.a, self.b = conv_block(c, c // 2, 1), conv_block(c * 2, c, 1)

    def forward(self, x):
        found = [self.a(x)]
        for _ in range(3):
            found.append(functional.max_pool2d(found[-1], 5, 1, 2))
        return self.b(torch.cat(found, 1))


class Yolo(nn.Module):
    """YOLOv5n with its decoded boxes; with `select`, the best 100 boxes after NonMaxSuppression."""

    def __init__(self, select, size=320, classes=80):
        super().__init__()
        self.stem = nn.Sequential(conv_block(3, 16, 6, 2), conv_block(16, 32, 3, 2), Csp(32, 32, 1), conv_block(32, 64, 3, 2), Csp(64, 64, 2))
        self.mid = nn.Sequential(conv_block(64, 128, 3, 2), Csp(128, 128, 3))
        self.low = nn.Sequential(conv_block(128, 256, 3, 2), Csp(256, 256, 1), Sppf(256))
        self.up1, self.fuse1 = conv_block(256, 128, 1), Csp(256, 128, 1, False)
        self.up2, self.fuse2 = conv_block(128, 64, 1), Csp(128, 64, 1, False)
        self.down1, self.fuse3 = conv_block(64, 64, 3, 2), Csp(128, 128, 1, False)
        self.down2, self.fuse4 = conv_block(128, 128, 3, 2), Csp(256, 256, 1, False)
        self.heads = nn.ModuleList(nn.Conv2d(c, 3 * (classes + 5), 1) for c in (64, 128, 256))
        self.select, self.classes = select, classes
        self.register_buffer("anchors", torch.rand(3, 1, 3, 1, 1, 2) * 100 + 10)

    def decode(self, y, i):
        b, _, h, w = y.shape
        y = y.view(b, 3, self.classes + 5, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([columns, rows], -1).float()
        xy = (y[..., :2] * 2 - 0.5 + grid) * (8 << i)
        wh = (y[..., 2:4] * 2) ** 2 * self.anchors[i]
        return torch.cat([xy, wh, y[..., 4:]], -1).reshape(b, -1, self.classes + 5)

    def forward(self, x):
        p3 = self.stem(x)
        p4 = self.mid(p3)
        up1 = self.up1(self.low(p4))
        n4 = self.fuse1(torch.cat([functional.interpolate(up1, scale_factor=2.0), p4], 1))
        up2 = self.up2(n4)
        n3 = self.fuse2(torch.cat([functional.interpolate(up2, scale_factor=2.0), p3], 1))
        m4 = self.fuse3(torch.cat([self.down1(n3), up2], 1))
        m5 = self.fuse4(torch.cat([self.down2(m4), up1], 1))
        found = torch.cat([self.decode(head(y), i) for i, (head, y) in enumerate(zip(self.heads, (n3, m4, m5)))], 1)
        if not self.select:
            return found
        boxes, scores = found[0, :, :4], (found[0, :, 4:5] * found[0, :, 5:]).amax(1)
        half = boxes[:, 2:] / 2
        boxes = torch.cat([boxes[:, :2] - half, boxes[:, :2] + half], 1)
        kept = torchvision.ops.nms(boxes, scores, 0.45)[:100]
        return boxes[kept], scores[kept]


add("yolov5n", "YOLOv5n with decoded boxes", lambda: (Yolo(False), image(320)))
add("yolov5n_nms", "YOLOv5n end to end, with NonMaxSuppression", lambda: (Yolo(True), image(320)))


class Unet(nn.Module):
    """U-Net in two or three dimensions."""

    def __init__(self, dims, inputs, outputs, widths):
        super().__init__()
        conv = nn.Conv3d if dims == 3 else nn.Conv2d
        norm = nn.BatchNorm3d if dims == 3 else nn.BatchNorm2d
        up = nn.ConvTranspose3d if dims == 3 else nn.ConvTranspose2d
        self.pool = nn.MaxPool3d(2) if dims == 3 else nn.MaxPool2d(2)

        def double(c, m):
            return nn.Sequential(conv(c, m, 3, padding=1), norm(m), nn.ReLU(), conv(m, m, 3, padding=1), norm(m), nn.ReLU())

        self.down = nn.ModuleList(double(c, m) for c, m in zip([inputs] + widths[:-1], widths))
        self.up = nn.ModuleList(up(c, m, 2, 2) for c, m in zip(widths[:0:-1], widths[-2::-1]))
        self.join = nn.ModuleList(double(2 * m, m) for m in widths[-2::-1])
        self.out = conv(widths[0], outputs, 1)

    def forward(self, x):
        kept = []
        for i, step in enumerate(self.down):
            x = step(self.pool(x) if i else x)
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, kept[-2::-1]):
            x = join(torch.cat([up(x), skip], 1))
        return self.out(x)


add("unet_2d", "U-Net for segmentation", lambda: (Unet(2, 1, 2, [32, 64, 128, 256]), image(128, 1)))
add("unet_3d", "3-D U-Net for volumes", lambda: (Unet(3, 1, 3, [16, 32, 64]), (torch.randn(1, 1, 32, 48, 48),)))


class VNet(nn.Module):
    """3-D encoder and decoder whose transposed convolutions overlap."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv3d(1, 16, 3, 2, 1), nn.PReLU(16), nn.Conv3d(16, 32, 3, 2, 1), nn.PReLU(32), nn.Conv3d(32, 32, 3, 1, 1), nn.PReLU(32))
        self.up = nn.Sequential(nn.ConvTranspose3d(32, 16, 4, 2, 1), nn.PReLU(16), nn.ConvTranspose3d(16, 2, 4, 2, 1), nn.Softmax(1))

    def forward(self, x):
        return self.up(self.down(x))


add("vnet_3d", "3-D segmentation, overlapping transposed convolutions", lambda: (VNet(), (torch.randn(1, 1, 32, 32, 32),)))


@model("DCGAN generator, transposed convolutions from 1x1 to 64x64")
def dcgan_generator():
    layers, c = [], 100
    for i, m in enumerate((512, 256, 128, 64)):
        layers += [nn.ConvTranspose2d(c, m, 4, 1 if i == 0 else 2, 0 if i == 0 else 1, bias=False), nn.BatchNorm2d(m), nn.ReLU()]
        c = m
    return nn.Sequential(*layers, nn.ConvTranspose2d(c, 3, 4, 2, 1), nn.Tanh()), (torch.randn(1, 100, 1, 1),)


@model("pix2pix generator, U-Net with InstanceNormalization")
def pix2pix_generator():
    class Level(nn.Module):
        def __init__(self, outer, inner, inside, outermost=False):
            super().__init__()
            down = nn.Conv2d(3 if outermost else outer, inner, 4, 2, 1)
            up = nn.ConvTranspose2d(inner * (2 if inside is not None else 1), outer, 4, 2, 1)
            steps = [down] if outermost else [nn.LeakyReLU(0.2), down] + ([nn.InstanceNorm2d(inner, affine=True)] if inside is not None else [])
            steps += ([inside] if inside is not None else []) + [nn.ReLU(), up, nn.Tanh() if outermost else nn.InstanceNorm2d(outer, affine=True)]
            self.steps, self.outermost = nn.Sequential(*steps), outermost

        def forward(self, x):
            return self.steps(x) if self.outermost else torch.cat([x, self.steps(x)], 1)

    block = None
    for outer, inner in ((256, 256), (256, 256), (128, 256), (64, 128), (32, 64)):
        block = Level(outer, inner, block)
    return Level(3, 32, block, True), image(128)


@model("CycleGAN generator, reflection pads and InstanceNormalization")
def cyclegan_generator():
    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.steps = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c), nn.ReLU(), nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c))

        def forward(self, x):
            return x + self.steps(x)

    steps = [nn.ReflectionPad2d(3), nn.Conv2d(3, 32, 7), nn.InstanceNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.InstanceNorm2d(64), nn.ReLU(),
             nn.Conv2d(64, 128, 3, 2, 1), nn.InstanceNorm2d(128), nn.ReLU()] + [Residual(128) for _ in range(6)]
    for c, m in ((128, 64), (64, 32)):
        steps += [nn.ConvTranspose2d(c, m, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(m), nn.ReLU()]
    return nn.Sequential(*steps, nn.ReflectionPad2d(3), nn.Conv2d(32, 3, 7), nn.Tanh()), image(128)


@model("EDSR super resolution by 2, PixelShuffle")
def edsr():
    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.steps = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1))

        def forward(self, x):
            return x + self.steps(x) * 0.1

    body = [Residual(64) for _ in range(8)]
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), *body, nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(64, 3, 3, padding=1)), image(64)


@model("FSRCNN super resolution by 3, 9x9 transposed convolution to one channel")
def fsrcnn():
    steps = [nn.Conv2d(1, 56, 5, padding=2), nn.PReLU(56), nn.Conv2d(56, 12, 1), nn.PReLU(12)]
    for _ in range(4):
        steps += [nn.Conv2d(12, 12, 3, padding=1), nn.PReLU(12)]
    steps += [nn.Conv2d(12, 56, 1), nn.PReLU(56), nn.ConvTranspose2d(56, 1, 9, 3, 4, output_padding=2)]
    return nn.Sequential(*steps), image(96, 1)


@model("convolutional autoencoder, transposed convolutions of 3x3")
def autoencoder():
    def down(c, m):
        return [nn.Conv2d(c, m, 3, 2, 1), nn.BatchNorm2d(m), nn.LeakyReLU()]

    def up(c, m):
        return [nn.ConvTranspose2d(c, m, 3, 2, 1, output_padding=1), nn.BatchNorm2d(m), nn.LeakyReLU()]

    return nn.Sequential(*down(3, 32), *down(32, 64), *down(64, 128), *down(128, 256), nn.Conv2d(256, 64, 1), *up(64, 128), *up(128, 64), *up(64, 32),
                         nn.ConvTranspose2d(32, 3, 3, 2, 1, output_padding=1), nn.Sigmoid()), image(128)


@model("denoising U-Net of a diffusion model, GroupNorm, SiLU, attention")
def diffusion_unet():
    class Residual(nn.Module):
        def __init__(self, c, m, time):
            super().__init__()
            self.a = nn.Sequential(nn.GroupNorm(8, c), nn.SiLU(), nn.Conv2d(c, m, 3, padding=1))
            self.time = nn.Linear(time, m)
            self.b = nn.Sequential(nn.GroupNorm(8, m), nn.SiLU(), nn.Conv2d(m, m, 3, padding=1))
            self.skip = nn.Conv2d(c, m, 1) if c != m else nn.Identity()

        def forward(self, x, t):
            return self.skip(x) + self.b(self.a(x) + self.time(functional.silu(t))[:, :, None, None])

    class Attention(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.qkv, self.out = nn.GroupNorm(8, c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x)).reshape(b, 3, 4, c // 4, h * w).transpose(-1, -2).unbind(1)
            y = torch.softmax(q @ k.transpose(-1, -2) * (c // 4) ** -0.5, -1) @ v
            return x + self.out(y.transpose(-1, -2).reshape(b, c, h, w))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 256))
            self.first = nn.Conv2d(3, 64, 3, padding=1)
            self.d1, self.down = Residual(64, 64, 256), nn.Conv2d(64, 128, 3, 2, 1)
            self.d2, self.a2, self.down2 = Residual(128, 128, 256), Attention(128), nn.Conv2d(128, 128, 3, 2, 1)
            self.mid, self.am = Residual(128, 128, 256), Attention(128)
            self.u2, self.u1 = Residual(256, 128, 256), Residual(192, 64, 256)
            self.last = nn.Sequential(nn.GroupNorm(8, 64), nn.SiLU(), nn.Conv2d(64, 3, 3, padding=1))

        def forward(self, x, t):
            angle = t[:, None] * torch.exp(torch.arange(32) * -0.28)
            t = self.time(torch.cat([angle.sin(), angle.cos()], 1))
            a = self.d1(self.first(x), t)
            b = self.a2(self.d2(self.down(a), t))
            c = self.am(self.mid(self.down2(b), t))
            b = self.u2(torch.cat([functional.interpolate(c, scale_factor=2.0), b], 1), t)
            return self.last(self.u1(torch.cat([functional.interpolate(b, scale_factor=2.0), a], 1), t))

    return Net(), (torch.randn(1, 3, 32, 32), torch.tensor([10.0]))


@model("PointNet on 1024 points, shared perceptrons and a spatial transformer")
def pointnet():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            mlp = lambda *w: nn.Sequential(*[s for c, m in zip(w, w[1:]) for s in (nn.Conv1d(c, m, 1), nn.BatchNorm1d(m), nn.ReLU())])
            full = lambda *w: nn.Sequential(*[s for c, m in zip(w, w[1:]) for s in (nn.Linear(c, m), nn.ReLU())])
            self.t1, self.f1 = mlp(3, 64, 128, 1024), nn.Sequential(full(1024, 512, 256), nn.Linear(256, 9))
            self.m1 = mlp(3, 64, 64)
            self.m2, self.out = mlp(64, 64, 128, 1024), nn.Sequential(full(1024, 512, 256), nn.Linear(256, 40), nn.LogSoftmax(1))

        def forward(self, x):
            t = self.f1(self.t1(x).amax(2)).view(-1, 3, 3) + torch.eye(3)
            x = self.m1((x.transpose(1, 2) @ t).transpose(1, 2))
            return self.out(self.m2(x).amax(2))

    return Net(), (torch.randn(1, 3, 1024),)


@model("CRNN for text in images, convolutions and a bidirectional LSTM")
def crnn():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(
                conv_block(1, 64, act=nn.ReLU), nn.MaxPool2d(2), conv_block(64, 128, act=nn.ReLU), nn.MaxPool2d(2), conv_block(128, 256, act=nn.ReLU),
                conv_block(256, 256, act=nn.ReLU), nn.MaxPool2d((2, 1)), conv_block(256, 256, act=nn.ReLU), nn.MaxPool2d((2, 1)), nn.Conv2d(256, 256, 2))
            self.rnn, self.out = nn.LSTM(256, 128, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(256, 80)

        def forward(self, x):
            x = self.conv(x).squeeze(2).transpose(1, 2)
            return self.out(self.rnn(x)[0])

    return Net(), (torch.randn(1, 1, 32, 128),)
