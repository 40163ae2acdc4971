from .modes import run as run
