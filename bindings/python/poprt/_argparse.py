"""argparse as PopRT's tools use it."""

from __future__ import annotations

import argparse

__all__ = ["PopHelpFormatter", "argparse"]


class PopHelpFormatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Help with the defaults of options, and descriptions as they were written."""
