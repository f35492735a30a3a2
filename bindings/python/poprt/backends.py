"""Back ends: compile a model and run it by names."""

from ._backend import Backend, ORTBackend
from ._session import Session, get_session

__all__ = ["Backend", "ORTBackend", "Session", "get_session"]
