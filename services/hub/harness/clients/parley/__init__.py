"""A typed client of Parley, which needs nothing but Python."""

from . import models
from .client import Parley
from .transport import Fault, Unreachable

__all__ = ["Fault", "Parley", "Unreachable", "models"]
