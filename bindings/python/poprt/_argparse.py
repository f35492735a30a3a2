"""The argparse classes of PopRT's tools."""

from __future__ import annotations

import argparse

__all__ = ["PopHelpFormatter", "argparse"]


class PopHelpFormatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Help with the defaults of options and unformatted descriptions."""
