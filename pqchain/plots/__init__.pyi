from collections.abc import Callable
from typing import Any

from .canvas import (
    INK as INK,
    figure_bytes as figure_bytes,
    screen_svg as screen_svg,
    style as style,
)
from .consensus import *
from .dots import *
from .fields import *
from .marks import FAMILIES as FAMILIES, Mark as Mark, mark_of as mark_of
from .reencode import *
from .sizes import *
from .speed import *
from .study import *

KINDS: tuple[str, ...]

def find(kind: str) -> Callable[..., Any]: ...
