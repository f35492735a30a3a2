"""Sessions by the name of a back end."""

from ._session import Session, get_session

__all__ = ["Session", "get_session"]
