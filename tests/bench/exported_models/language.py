"""Models of transformers: language, speech, and vision with text."""
import torch
import transformers
from registry import Selected, add, image, model, tokens

EAGER = {"attn_implementation": "eager"}


def encoder(name, about, cls, config, length=128, mask=True, **more):
    """A model of input_ids and, unless mask is False, attention_mask, with its last hidden state."""

    def make():
        settings = getattr(transformers, config)(**more)
        try:
            module = getattr(transformers, cls)._from_config(settings, **EAGER)
        except ValueError:
            module = getattr(transformers, cls)(settings)
        names = ["input_ids"] + (["attention_mask"] if mask else [])
        inputs = (tokens(length, settings.vocab_size),) + ((torch.ones(1, length, dtype=torch.int64),) if mask else ())
        return Selected(module, names, lambda r: r[0]), inputs

    add(name, about, make)


SMALL = {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 8000}

encoder("bert_small", "BERT, 4 layers of 512, 128 tokens", "BertModel", "BertConfig", **SMALL)
encoder("distilbert", "DistilBERT, 2 layers of 768", "DistilBertModel", "DistilBertConfig", vocab_size=8000, n_layers=2)
encoder("albert", "ALBERT, shared layers", "AlbertModel", "AlbertConfig", vocab_size=8000, hidden_size=384, num_hidden_layers=6, num_attention_heads=6,
        intermediate_size=1536)
encoder("mobilebert", "MobileBERT, bottlenecks without LayerNorm", "MobileBertModel", "MobileBertConfig", vocab_size=8000, num_hidden_layers=6)
encoder("deberta_v2", "DeBERTa, disentangled attention with GatherElements", "DebertaV2Model", "DebertaV2Config", length=64, hidden_size=384,
        num_hidden_layers=4, num_attention_heads=6, intermediate_size=1536, vocab_size=8000, relative_attention=True, max_relative_positions=64,
        position_buckets=32, pos_att_type=["p2c", "c2p"], share_att_key=True)
encoder("xlnet", "XLNet, Einsum and relative shift", "XLNetModel", "XLNetConfig", mask=False, vocab_size=8000, d_model=512, n_layer=3, n_head=8, d_inner=2048)
encoder("squeezebert", "SqueezeBERT, grouped convolutions of one dimension", "SqueezeBertModel", "SqueezeBertConfig", vocab_size=8000, num_hidden_layers=4)
encoder("convbert", "ConvBERT, dynamic convolutions", "ConvBertModel", "ConvBertConfig", mask=False, length=64, **(SMALL | {"embedding_size": 512}))
encoder("t5_encoder", "T5 encoder, relative positions, RMS norm", "T5EncoderModel", "T5Config", vocab_size=8000, num_layers=4, d_model=512, d_ff=2048)


def decoder(name, about, cls, config, step, past_heads, past_size, layers, **more):
    """A causal language model: a prompt of 64 tokens, or one token after 127 in the cache."""

    class Step(torch.nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, ids, *past):
            pairs = tuple(zip(past[0::2], past[1::2]))
            cache = transformers.DynamicCache.from_legacy_cache(pairs) if pairs else None
            length = ids.shape[1] + (past[0].shape[2] if past else 0)
            out = self.module(input_ids=ids, past_key_values=cache, use_cache=bool(pairs), attention_mask=torch.ones(1, length, dtype=torch.int64))
            if not pairs:
                return out.logits
            return (out.logits, *[t for layer in out.past_key_values.to_legacy_cache() for t in layer])

    def make():
        settings = getattr(transformers, config)(**more)
        module = getattr(transformers, cls)._from_config(settings, **EAGER)
        past = [torch.randn(1, past_heads, 127, past_size) for _ in range(2 * layers)] if step else []
        return Step(module), (tokens(1 if step else 64, settings.vocab_size), *past)

    add(name, about, make)


GPT2 = {"vocab_size": 8000, "n_layer": 4}
LLAMA = {"vocab_size": 8000, "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 12, "num_key_value_heads": 4}
decoder("gpt2_prefill", "GPT-2, 4 layers of 768, 64 tokens", "GPT2LMHeadModel", "GPT2Config", False, 12, 64, 4, **GPT2)
decoder("gpt2_step", "GPT-2, one token after 127", "GPT2LMHeadModel", "GPT2Config", True, 12, 64, 4, **GPT2)
decoder("llama_prefill", "LLaMA, 4 layers of 768, grouped keys, 64 tokens", "LlamaForCausalLM", "LlamaConfig", False, 4, 64, 4, **LLAMA)
decoder("llama_step", "LLaMA, one token after 127", "LlamaForCausalLM", "LlamaConfig", True, 4, 64, 4, **LLAMA)
decoder("bloom_prefill", "BLOOM, ALiBi", "BloomForCausalLM", "BloomConfig", False, 8, 64, 3, vocab_size=8000, hidden_size=512, n_layer=3, n_head=8)
decoder("opt_step", "OPT, one token after 127", "OPTForCausalLM", "OPTConfig", True, 12, 64, 3, vocab_size=8000, num_hidden_layers=3)


@model("Whisper encoder, 80 x 600 mel frames")
def whisper_encoder():
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, max_source_positions=300)
    module = transformers.WhisperModel._from_config(config, **EAGER).encoder
    return Selected(module, ["input_features"], lambda r: r[0]), (torch.randn(1, 80, 600),)


@model("Wav2Vec2, convolutions of one dimension over sound, grouped positional convolution")
def wav2vec2():
    config = transformers.Wav2Vec2Config(num_hidden_layers=2, conv_dim=(256,) * 7, vocab_size=32)
    module = transformers.Wav2Vec2ForCTC._from_config(config, **EAGER)
    return Selected(module, ["input_values"], lambda r: r.logits), (torch.randn(1, 16000),)


@model("Conformer of Wav2Vec2, relative positions, depthwise convolution, GLU")
def conformer():
    config = transformers.Wav2Vec2ConformerConfig(hidden_size=256, num_hidden_layers=3, num_attention_heads=4, intermediate_size=1024, conv_dim=(128,) * 7,
                                                  position_embeddings_type="relative", num_conv_pos_embeddings=32)
    module = transformers.Wav2Vec2ConformerModel(config)
    return Selected(module, ["input_values"], lambda r: r[0]), (torch.randn(1, 16000),)


@model("CLIP, image and text towers and their similarity")
def clip():
    text = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": 4000, "eos_token_id": 2}
    vision = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 4, "num_attention_heads": 6, "patch_size": 32}
    module = transformers.CLIPModel._from_config(transformers.CLIPConfig(text_config=text, vision_config=vision), **EAGER)
    names = ["input_ids", "attention_mask", "pixel_values"]
    inputs = (tokens(32, 4000, 4), torch.ones(4, 32, dtype=torch.int64), *image(224))
    return Selected(module, names, lambda r: (r.logits_per_image, r.image_embeds)), inputs


@model("SegFormer B0, segmentation at 256x256")
def segformer():
    module = transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig(num_labels=19))
    return Selected(module, ["pixel_values"], lambda r: r.logits), image(256)


@model("GLPN, depth estimation")
def glpn_depth():
    config = transformers.GLPNConfig(depths=[2, 2, 2, 2], hidden_sizes=[32, 64, 160, 256], decoder_hidden_size=32)
    return Selected(transformers.GLPNForDepthEstimation(config), ["pixel_values"], lambda r: r.predicted_depth), image(192)


@model("image encoder of SAM, windows and relative positions")
def sam_encoder():
    config = transformers.SamVisionConfig(hidden_size=192, num_hidden_layers=4, num_attention_heads=6, image_size=256, window_size=7, global_attn_indexes=[1, 3],
                                          mlp_dim=768, output_channels=128)
    config._attn_implementation = "eager"
    module = transformers.models.sam.modeling_sam.SamVisionEncoder(config)
    return Selected(module, ["pixel_values"], lambda r: r[0]), image(256)


@model("DETR, a residual network, encoder, decoder with object queries")
def detr():
    config = transformers.DetrConfig(backbone="resnet18", use_timm_backbone=True, use_pretrained_backbone=False, encoder_layers=2, decoder_layers=2,
                                     encoder_ffn_dim=1024, decoder_ffn_dim=1024, num_queries=50)
    module = transformers.DetrForObjectDetection(config)
    return Selected(module, ["pixel_values"], lambda r: (r.logits, r.pred_boxes)), image(256)


@model("DINOv2, layer scale, interpolated positions")
def dinov2():
    config = transformers.Dinov2Config(hidden_size=384, num_hidden_layers=4, num_attention_heads=6, image_size=224)
    module = transformers.Dinov2Model._from_config(config, **EAGER)
    return Selected(module, ["pixel_values"], lambda r: r[0]), image(224)


@model("Swin2SR, super resolution with windows")
def swin2sr():
    config = transformers.Swin2SRConfig(image_size=64, embed_dim=60, depths=[2, 2], num_heads=[6, 6], upscale=2)
    module = transformers.Swin2SRForImageSuperResolution(config)
    return Selected(module, ["pixel_values"], lambda r: r.reconstruction), image(64)


@model("audio spectrogram transformer")
def audio_spectrogram():
    config = transformers.ASTConfig(hidden_size=192, num_hidden_layers=4, num_attention_heads=3, intermediate_size=768, max_length=256)
    module = transformers.ASTForAudioClassification._from_config(config, **EAGER)
    return Selected(module, ["input_values"], lambda r: r.logits), (torch.randn(1, 256, 128),)


@model("PatchTST, forecasts of time series")
def patch_tst():
    config = transformers.PatchTSTConfig(num_input_channels=7, context_length=336, prediction_length=96, patch_length=16, patch_stride=8)
    module = transformers.PatchTSTForPrediction(config)
    # The exporter places the windows of unfold() wrongly if the dimension is negative.
    module.model.patchifier.forward = lambda x: x.unfold(1, 16, 8).transpose(1, 2).contiguous()
    return Selected(module, ["past_values"], lambda r: r.prediction_outputs), (torch.randn(1, 336, 7),)


@model("EnCodec, sound to codes' input: convolutions and LSTM")
def encodec_encoder():
    module = transformers.EncodecModel(transformers.EncodecConfig(num_filters=16)).encoder
    return module, (torch.randn(1, 1, 6400),)


@model("SpeechT5's HiFi-GAN vocoder, transposed convolutions of one dimension")
def hifi_gan():
    config = transformers.SpeechT5HifiGanConfig(upsample_initial_channel=128)
    module = transformers.SpeechT5HifiGan(config)
    return Selected(module, ["spectrogram"], lambda r: r), (torch.randn(1, 40, 80),)
