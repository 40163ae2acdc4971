from . import papers as papers, printed as printed
from .registry import get as get, works as works
