from . import papers as papers, printed as printed, tables as tables
from .registry import get as get, works as works
